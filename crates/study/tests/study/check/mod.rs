mod certain;
mod classes;
mod common;
mod packs;
mod places;
mod reference;
mod seeds;
mod size;
