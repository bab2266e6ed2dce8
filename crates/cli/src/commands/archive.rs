//! `trackside archive`: old journal goes into files of its own.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_store::Store;
use trackside_store::archive::{About, folder_of, move_out};
use trackside_store::record::hex;

use crate::args::ArchiveArgs;
use crate::exit;
use crate::folder::{self, Stopped, counted};
use crate::print;

pub(crate) fn run(args: &ArchiveArgs) -> u8 {
    match archive(args) {
        Ok(moved) => {
            match args.json {
                true => print::line(&format!("{:#}", to_json(&moved))),
                false => show(args, &moved),
            }
            exit::DONE
        }
        Err(stopped) => stopped.told(),
    }
}

fn archive(args: &ArchiveArgs) -> Result<Vec<About>, Stopped> {
    let Some(span) = Span::parse(&args.older_than) else {
        let why = format!("--older-than {}: write a span such as 30d, 24h or 90m", args.older_than);
        return Err(Stopped::usage(why));
    };
    let store = Arc::new(folder::open(&args.data, "archive")?);
    // What is not in the projections yet cannot go.
    folder::start_standing(&store, &[])?.stop();
    let before = Timestamp(folder::clock(&args.data, &store)?.now().0.saturating_sub(span.0));
    let (mut reader, mut journal) = (store.reader()?, store.journal()?);
    let mut moved = Vec::new();
    // One that was broken off is finished first.
    while let Some(about) = move_out(reader.as_mut(), journal.as_mut(), &folder_of(&args.data.data), before)?
    {
        moved.push(about);
    }
    Ok(moved)
}

fn show(args: &ArchiveArgs, moved: &[About]) {
    if moved.is_empty() {
        print::line(&format!(
            "nothing to archive: no entry is older than {} and free to go. The newest entry stays, and so does all after an effect that nobody has answered",
            args.older_than
        ));
    }
    for about in moved {
        let entries = about.last() + 1 - about.first();
        print::line(&format!(
            "{} ({} to {}) in {}",
            counted(entries, "entry", "entries"),
            about.first(),
            about.last(),
            about.path.display()
        ));
    }
}

fn to_json(moved: &[About]) -> Json {
    let file = |it: &About| {
        let hash = hex(&it.after.hash);
        json!({ "path": it.path, "first": it.first(), "last": it.last(), "hash": hash })
    };
    json!({ "files": moved.iter().map(file).collect::<Vec<_>>() })
}
