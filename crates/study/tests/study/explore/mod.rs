mod broken_packs;
mod common;
mod nothing_is_lost;
mod packs;
mod promises;
