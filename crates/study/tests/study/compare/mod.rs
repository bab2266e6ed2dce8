mod changes;
mod definition;
mod mutations;
mod stranded;
mod whatif;
