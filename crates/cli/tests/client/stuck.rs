//! Why it is not moving: situations in which people get stuck, each in a pack that comes with the program.
