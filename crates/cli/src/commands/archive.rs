//! `trackside archive`: moves old journal entries into archive files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value as Json, json};
use trackside_lifecycle::hex;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_store::Store;
use trackside_store::archive::{folder_of, move_out};

use crate::args::{ArchiveArgs, DataArgs};
use crate::folder::{self, CliError, count_with_noun};
use crate::print;
use crate::project::ProjectLocation;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::time_format::{list, number, text};
use crate::url::ApiPath;

pub(crate) fn run(args: &ArchiveArgs) -> u8 {
    let moved = ProjectLocation::find(&args.data).map_err(RequestError::from).and_then(|it| match it {
        ProjectLocation::Server(server) => served(args, &server),
        ProjectLocation::Folder(data) => Ok(archive(args, &data)?),
    });
    let answer = moved.map(|moved| print::answer(&to_json(&moved), args.json, |_| show(args, &moved)));
    refused::finish(answer, CommandSubject::default(), args.json)
}

/// An archive file.
struct Moved {
    path: PathBuf,
    first: u64,
    last: u64,
    hash: String,
}

/// The minimum age of an entry.
fn span(args: &ArchiveArgs) -> Result<Span, CliError> {
    Span::parse(&args.older_than).ok_or_else(|| {
        CliError::usage(format!("--older-than {}: write a span such as 30d, 24h or 90m", args.older_than))
    })
}

/// Archives through the server that owns the folder; it keeps running.
fn served(args: &ArchiveArgs, server: &ServerConnection) -> Result<Vec<Moved>, RequestError> {
    span(args)?;
    let answer = server.post(&ApiPath::new(&["archive"]), &json!({ "olderThan": args.older_than }))?;
    // For a server that is known only by its address, the path in its folder.
    let folder = server.folder().unwrap_or(Path::new(""));
    let file = |it: &Json| Moved {
        path: folder.join(text(it, "path")),
        first: number(it, "first"),
        last: number(it, "last"),
        hash: text(it, "hash").to_owned(),
    };
    Ok(list(&answer, "files").iter().map(file).collect())
}

fn archive(args: &ArchiveArgs, data: &DataArgs) -> Result<Vec<Moved>, CliError> {
    let span = span(args)?;
    folder::check_owner("archive without a server")?;
    let store = Arc::new(folder::open(data, "archive")?);
    // Entries that are not in the projections yet cannot be archived.
    folder::start_standing(&store, &[])?.stop();
    let before = Timestamp(folder::clock(data, &store)?.now().0.saturating_sub(span.0));
    let (mut reader, mut journal) = (store.reader()?, store.journal()?);
    let mut moved = Vec::new();
    // An interrupted archiving is completed first.
    while let Some(about) = move_out(reader.as_mut(), journal.as_mut(), &folder_of(&data.data), before)? {
        let (first, last, hash) = (about.first(), about.last(), hex::encode(about.after.hash));
        moved.push(Moved { path: about.path, first, last, hash });
    }
    Ok(moved)
}

fn show(args: &ArchiveArgs, moved: &[Moved]) {
    if moved.is_empty() {
        print::line(styled!(
            "nothing to archive: no entry older than {} can be moved. The newest entry always stays",
            args.older_than
        ));
    }
    for Moved { path, first, last, .. } in moved {
        let entries = count_with_noun((last + 1).saturating_sub(*first), "entry", "entries");
        print::line(styled!("{entries} ({first} to {last}) in {}", path.display()));
    }
}

fn to_json(moved: &[Moved]) -> Json {
    let file = |it: &Moved| json!({ "path": it.path, "first": it.first, "last": it.last, "hash": it.hash });
    json!({ "files": moved.iter().map(file).collect::<Vec<_>>() })
}
