mod diagrams;
mod exports;
mod graphs;
mod pictures;
