//! `trackside export`: the whole project as JSON lines, from the server or from the folder.

use std::fs::{self, File};
use std::io::{BufRead as _, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use trackside_runtime::ProjectClock;
use trackside_store::archive::Archive;
use trackside_store::export_lines::{self, ExportLine};
use trackside_store::{Artifacts, rules};

use crate::args::{DataArgs, ExportArgs};
use crate::folder::{self, CliError, count_with_noun};
use crate::project::ProjectLocation;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::url::ApiPath;
use crate::{exit, print};

pub(crate) fn run(args: &ExportArgs) -> u8 {
    refused::finish(export(args), CommandSubject::default(), false)
}

fn export(args: &ExportArgs) -> Result<u8, RequestError> {
    let project = ProjectLocation::find(&args.data)?;
    let mut out = Out::new(args.to.as_deref())?;
    let written = match project {
        ProjectLocation::Server(server) => served(&server, &mut out),
        ProjectLocation::Folder(data) => read(&data, &mut out).map_err(RequestError::from),
    };
    match written {
        Ok(()) => out.done()?,
        Err(error) => {
            out.dropped();
            return Err(error);
        }
    }
    Ok(exit::DONE)
}

/// The server's export, streamed.
fn served(server: &ServerConnection, out: &mut Out) -> Result<(), RequestError> {
    let cut = |why: String| CliError::unreachable(format!("the export was cut off ({why}). Try again"));
    let (mut last, mut seen) = (None, 0);
    for line in server.stream(&ApiPath::new(&["export"]))?.lines() {
        let line = line.map_err(|it| cut(it.to_string()))?;
        match export_lines::read(&line) {
            Ok(ExportLine::Header(about)) if about.records => last = Some(about.last),
            Ok(ExportLine::Record(record)) => seen = record.seq,
            _ => {}
        }
        out.line(&line)?;
    }
    match last {
        Some(last) if last != seen => Err(cut(format!("it ends with entry {seen} of {last}")).into()),
        _ => Ok(()),
    }
}

/// The export of a folder, without a server or beside one.
fn read(data: &DataArgs, out: &mut Out) -> Result<(), CliError> {
    let mut reader = folder::open_to_read(data)?;
    rules::check_unchanged(reader.as_mut(), &data.data.join("journal.db"))?;
    let archive = Archive::of(&data.data)?;
    let head = reader.head()?;
    let upto = head.chain.seq;
    let stands = head.at.max(ProjectClock::noted_in(&data.data));
    let clock = stands.filter(|_| ProjectClock::is_manual_in(&data.data));
    out.line(&export_lines::header_line(ProjectClock::System.now(), upto, true, clock).to_string())?;
    for it in reader.definitions()? {
        out.line(&export_lines::definition(&it).to_string())?;
    }
    export_lines::each_record::<CliError>(reader.as_mut(), &archive, upto, &mut |record| {
        out.line(&export_lines::record(record).to_string())
    })?;
    let looked = Artifacts::of(&data.data).each(|id, content| -> Result<(), CliError> {
        out.line(&export_lines::artifact(id, content).to_string())
    })?;
    if !looked.damaged.is_empty() {
        let names = looked.damaged.join(", ");
        print::message(styled!("skipped, because their content does not match their hash: {names}"));
    }
    Ok(())
}

/// Standard output, or a file that gets its name when it is there as a whole.
enum Out {
    Printed,
    File { to: PathBuf, part: PathBuf, file: BufWriter<File>, lines: u64 },
}

impl Out {
    fn new(to: Option<&Path>) -> Result<Self, CliError> {
        let Some(to) = to else { return Ok(Self::Printed) };
        if to.exists() {
            return Err(CliError::usage(format!("{} already exists: name another file", to.display())));
        }
        let mut part = to.as_os_str().to_owned();
        part.push(".partial");
        let part = PathBuf::from(part);
        let file = File::create(&part).map_err(|it| CliError::unwritten(&part, &it))?;
        Ok(Self::File { to: to.to_owned(), part, file: BufWriter::new(file), lines: 0 })
    }

    fn line(&mut self, text: &str) -> Result<(), CliError> {
        match self {
            Self::Printed => {
                print::json_text(text);
                Ok(())
            }
            Self::File { part, file, lines, .. } => {
                *lines += 1;
                writeln!(file, "{text}").map_err(|it| CliError::unwritten(part, &it))
            }
        }
    }

    fn done(self) -> Result<(), CliError> {
        let Self::File { to, part, mut file, lines } = self else { return Ok(()) };
        let finished =
            file.flush().and_then(|()| file.get_ref().sync_all()).and_then(|()| fs::rename(&part, &to));
        finished.map_err(|it| CliError::unwritten(&to, &it))?;
        print::message(styled!("{} in {}", count_with_noun(lines, "line", "lines"), to.display()));
        Ok(())
    }

    fn dropped(self) {
        if let Self::File { part, .. } = self {
            let _ = fs::remove_file(part);
        }
    }
}
