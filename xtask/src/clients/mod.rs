//! `cargo xtask clients`: the typed parts of the Python and TypeScript clients, made from the OpenAPI document.
//!
//! The hand-written part (sending, retrying, refusing) is the same for every route.

mod python;
mod typescript;

use std::{fs, io};

use crate::openapi::{Document, server_document};
use crate::tree::Tree;

/// Routes with another protocol, or for browsers: no client calls them.
const DOORS: &str = "doors";

/// The routes that clients call.
fn client_routes() -> Document {
    let mut document = server_document();
    document.operations.retain(|it| it.tag != DOORS);
    document
}

/// Every file that is made, by its path from the root.
fn files(document: &Document) -> [(&'static str, String); 2] {
    [
        ("clients/python/trackside/_generated.py", python::render(document)),
        ("clients/typescript/src/generated.ts", typescript::render(document)),
    ]
}

/// Writes them all; returns a summary.
pub fn write(tree: &Tree) -> io::Result<String> {
    let document = client_routes();
    for (path, text) in files(&document) {
        fs::write(tree.root().join(path), text)?;
    }
    Ok(format!("clients: {} routes, {} types", document.operations.len(), document.types.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clients_know_every_route_as_it_is() {
        let tree = Tree::here();
        for (path, text) in files(&client_routes()) {
            let kept = fs::read_to_string(tree.root().join(path)).unwrap_or_default();
            assert!(kept == text, "{path} is not what the routes are now: run `cargo xtask clients`");
        }
    }
}
