//! Rust sources as tokens, without code that is compiled only for tests.
//!
//! A file counts as test-only when every way to it from the crate's root passes a `mod` under
//! `#[cfg(test)]`. Nothing is guessed from names of files or functions.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Attribute, Block, File, ImplItem, Item, ItemImpl, ItemMod, Meta, Stmt, Token, punctuated::Punctuated,
};

use crate::tree::Tree;

/// The product code of one file.
#[derive(Debug)]
pub struct SourceFile {
    pub path: String,
    pub tokens: TokenStream,
}

/// The sources of a crate.
#[derive(Debug, Default)]
pub struct CrateSources {
    /// Compiled into the product, tests taken out.
    pub product: Vec<SourceFile>,
    /// Files in the folder that no module declares, or that cannot be read as Rust.
    pub lost: Vec<(String, &'static str)>,
}

/// Reads a crate from its roots (`lib.rs`, `main.rs`, `bin/*.rs`) on.
pub fn sources(tree: &Tree, src: &str) -> CrateSources {
    let mut found = CrateReader { tree, product: BTreeMap::new(), tests: Vec::new(), lost: Vec::new() };
    let bin = format!("{src}/bin/");
    let roots: Vec<&str> = tree
        .files(src, ".rs")
        .map(|(path, _)| path)
        .filter(|path| {
            *path == format!("{src}/lib.rs") || *path == format!("{src}/main.rs") || path.starts_with(&bin)
        })
        .collect();
    for root in roots {
        found.read(root, src, false);
    }
    for (path, _) in tree.files(&format!("{src}/"), ".rs") {
        let known = found.product.contains_key(path) || found.tests.iter().any(|it| it == path);
        if !known && !found.lost.iter().any(|(it, _)| it == path) {
            found.lost.push((path.to_owned(), "no module declares this file"));
        }
    }
    let product = found.product.into_iter().map(|(path, tokens)| SourceFile { path, tokens }).collect();
    CrateSources { product, lost: found.lost }
}

struct CrateReader<'a> {
    tree: &'a Tree,
    product: BTreeMap<String, TokenStream>,
    tests: Vec<String>,
    lost: Vec<(String, &'static str)>,
}

impl CrateReader<'_> {
    /// `folder` contains its modules.
    fn read(&mut self, path: &str, folder: &str, test: bool) {
        let text = self.tree.text(path).unwrap_or_default();
        let Ok(mut file) = syn::parse_file(text) else {
            self.lost.push((path.to_owned(), "this is not Rust"));
            return;
        };
        if test || has_test_attribute(&file.attrs) {
            self.tests.push(path.to_owned());
            self.follow(&file.items, folder, true);
            return;
        }
        self.follow(&file.items, folder, false);
        WithoutTests.visit_file_mut(&mut file);
        self.product.insert(path.to_owned(), file.into_token_stream());
    }

    fn follow(&mut self, items: &[Item], folder: &str, test: bool) {
        for item in items {
            let Item::Mod(module) = item else { continue };
            let name = module.ident.to_string();
            let name = name.trim_start_matches("r#");
            let test = test || has_test_attribute(&module.attrs);
            let inside = format!("{folder}/{name}");
            match &module.content {
                Some((_, items)) => self.follow(items, &inside, test),
                None => {
                    let flat = format!("{inside}.rs");
                    let path =
                        if self.tree.text(&flat).is_some() { flat } else { format!("{inside}/mod.rs") };
                    if self.tree.text(&path).is_none() {
                        self.lost.push((path, "a module is declared and its file is not here"));
                    } else {
                        self.read(&path, &inside, test);
                    }
                }
            }
        }
    }
}

/// Removes items, methods and statements that exist only in tests. Code that it misses is checked like the
/// rest.
struct WithoutTests;

impl VisitMut for WithoutTests {
    fn visit_file_mut(&mut self, file: &mut File) {
        file.items.retain(|it| !is_test_item(it));
        visit_mut::visit_file_mut(self, file);
    }

    fn visit_item_mod_mut(&mut self, module: &mut ItemMod) {
        if let Some((_, items)) = &mut module.content {
            items.retain(|it| !is_test_item(it));
        }
        visit_mut::visit_item_mod_mut(self, module);
    }

    fn visit_item_impl_mut(&mut self, block: &mut ItemImpl) {
        block.items.retain(|it| match it {
            ImplItem::Fn(it) => !has_test_attribute(&it.attrs),
            ImplItem::Const(it) => !has_test_attribute(&it.attrs),
            _ => true,
        });
        visit_mut::visit_item_impl_mut(self, block);
    }

    fn visit_block_mut(&mut self, block: &mut Block) {
        block.stmts.retain(|it| match it {
            Stmt::Item(it) => !is_test_item(it),
            Stmt::Local(it) => !has_test_attribute(&it.attrs),
            _ => true,
        });
        visit_mut::visit_block_mut(self, block);
    }
}

fn is_test_item(item: &Item) -> bool {
    let attributes = match item {
        Item::Const(it) => &it.attrs,
        Item::Enum(it) => &it.attrs,
        Item::ExternCrate(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Macro(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Static(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        Item::Type(it) => &it.attrs,
        Item::Union(it) => &it.attrs,
        Item::Use(it) => &it.attrs,
        _ => return false,
    };
    has_test_attribute(attributes)
}

/// `#[test]`, `#[cfg(test)]` and `#[cfg(all(test, …))]`; not `any` or `not`, which the product may see.
fn has_test_attribute(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|it| match &it.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") => {
            list.parse_args::<Meta>().is_ok_and(|it| needs_test(&it))
        }
        _ => false,
    })
}

fn needs_test(condition: &Meta) -> bool {
    match condition {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("all") => list
            .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
            .is_ok_and(|all| all.iter().any(needs_test)),
        _ => false,
    }
}

/// A path as written, groups of a `use` spelled out: `std::{fs, time::Instant}` is two.
#[derive(Debug, PartialEq, Eq)]
pub struct Mention {
    pub segments: Vec<String>,
    pub line: usize,
    /// A `!` follows: the name of a macro that is called.
    pub called: bool,
}

/// Every path, name and keyword in the tokens.
pub fn mentions(tokens: &TokenStream) -> Vec<Mention> {
    let mut found = Vec::new();
    gather(tokens.clone(), &[], &mut found);
    found
}

fn gather(tokens: TokenStream, prefix: &[String], found: &mut Vec<Mention>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let punct =
        |at: usize, sign: char| matches!(tokens.get(at), Some(TokenTree::Punct(it)) if it.as_char() == sign);
    let mut at = 0;
    // Only the first path of each entry of a group continues the path before the group.
    let mut fresh = true;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token {
            TokenTree::Ident(name) => {
                let line = name.span().start().line;
                let mut segments = if fresh { prefix.to_vec() } else { Vec::new() };
                fresh = false;
                segments.push(name.to_string());
                while punct(at, ':') && punct(at + 1, ':') {
                    match tokens.get(at + 2) {
                        Some(TokenTree::Ident(name)) => segments.push(name.to_string()),
                        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                            gather(group.stream(), &segments, found);
                        }
                        _ => break,
                    }
                    at += 3;
                }
                found.push(Mention { segments, line, called: punct(at, '!') });
            }
            TokenTree::Group(group) => gather(group.stream(), if fresh { prefix } else { &[] }, found),
            TokenTree::Punct(it) if it.as_char() == ',' => fresh = true,
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// Every text literal outside attributes, with its line.
pub fn texts(tokens: &TokenStream) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    gather_texts(tokens.clone(), &mut found);
    found
}

fn gather_texts(tokens: TokenStream, found: &mut Vec<(String, usize)>) {
    let mut hash = false;
    for token in tokens {
        match token {
            TokenTree::Group(group) if hash && group.delimiter() == Delimiter::Bracket => hash = false,
            TokenTree::Group(group) => {
                hash = false;
                gather_texts(group.stream(), found);
            }
            TokenTree::Literal(literal) => {
                hash = false;
                let line = literal.span().start().line;
                match syn::Lit::new(literal) {
                    syn::Lit::Str(it) => found.push((it.value(), line)),
                    syn::Lit::ByteStr(it) => {
                        found.push((String::from_utf8_lossy(&it.value()).into_owned(), line))
                    }
                    _ => {}
                }
            }
            TokenTree::Punct(it) => hash = it.as_char() == '#' || (hash && it.as_char() == '!'),
            TokenTree::Ident(_) => hash = false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        mentions(&text.parse().unwrap()).into_iter().map(|it| it.segments.join("::")).collect()
    }

    #[test]
    fn groups_are_spelled_out() {
        let found = paths("use std::{fmt, time::{Duration, Instant as Clock}};");
        for path in ["std::fmt", "std::time::Duration", "std::time::Instant"] {
            assert!(found.iter().any(|it| it == path), "{path} in {found:?}");
        }
        assert!(!found.iter().any(|it| it == "std::Clock" || it == "std::time::Clock"), "{found:?}");
    }

    #[test]
    fn bodies_of_macros_are_looked_into() {
        let found = paths("macro_rules! now { () => { std::time::Instant::now() }; }");
        assert!(found.contains(&"std::time::Instant::now".to_owned()), "{found:?}");
    }

    #[test]
    fn tests_are_taken_out_and_only_tests() {
        let tree = Tree::planted(&[
            ("a/src/lib.rs", "mod kept; #[cfg(test)] mod gone; #[cfg(not(test))] mod also; pub fn f() {}"),
            (
                "a/src/kept.rs",
                "impl X { #[cfg(test)] fn hidden() {} fn seen() {} } #[cfg(all(test, unix))] mod t { fn hidden() {} }",
            ),
            ("a/src/gone.rs", "mod deeper;"),
            ("a/src/gone/deeper.rs", "fn hidden() {}"),
            ("a/src/also/mod.rs", "fn seen() {}"),
            ("a/src/stray.rs", "fn f() {}"),
        ]);
        let found = sources(&tree, "a/src");
        let files: Vec<&str> = found.product.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(files, ["a/src/also/mod.rs", "a/src/kept.rs", "a/src/lib.rs"]);
        assert_eq!(found.lost, [("a/src/stray.rs".to_owned(), "no module declares this file")]);
        let all: Vec<String> = found.product.iter().map(|it| it.tokens.to_string()).collect();
        assert!(all.concat().contains("seen") && !all.concat().contains("hidden"), "{all:?}");
    }

    #[test]
    fn comments_and_attributes_are_no_texts() {
        let tokens: TokenStream = r##"/// "DONE"
            #[expect(dead_code, reason = "DONE")] fn f() { g("a", r#"b"#, b"c"); }"##
            .parse()
            .unwrap();
        let found: Vec<String> = texts(&tokens).into_iter().map(|(text, _)| text).collect();
        assert_eq!(found, ["a", "b", "c"]);
    }
}
