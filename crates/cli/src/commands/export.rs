//! `trackside export`: everything as JSON lines, from the server or from the folder.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use trackside_runtime::Clock;
use trackside_store::archive::Archive;
use trackside_store::lines::{self, Line};
use trackside_store::{Artifacts, rules};

use crate::args::{DataArgs, ExportArgs};
use crate::folder::{self, Stopped, counted};
use crate::project::Project;
use crate::reach::{Server, Unanswered};
use crate::refused::{self, About};
use crate::route::Route;
use crate::{exit, files, print};

pub(crate) fn run(args: &ExportArgs) -> u8 {
    refused::ended(export(args), About::default(), false)
}

fn export(args: &ExportArgs) -> Result<u8, Unanswered> {
    let project = Project::find(&args.data)?;
    let mut out = Out::new(args.to.as_deref())?;
    let written = match project {
        Project::Server(server) => served(&server, &mut out),
        Project::Folder(data) => read(&data, &mut out).map_err(Unanswered::from),
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

/// What the server tells, as it comes.
fn served(server: &Server, out: &mut Out) -> Result<(), Unanswered> {
    let cut = |why: String| Stopped {
        why: format!("the export was cut off ({why}). Try again"),
        code: exit::UNREACHABLE,
    };
    let (mut last, mut seen) = (None, 0);
    for line in server.stream(&Route::new(&["export"]))?.lines() {
        let line = line.map_err(|it| cut(it.to_string()))?;
        match lines::read(&line) {
            Ok(Line::About(about)) if about.records => last = Some(about.last),
            Ok(Line::Record(record)) => seen = record.seq,
            _ => {}
        }
        out.line(&line)?;
    }
    match last {
        Some(last) if last != seen => Err(cut(format!("it ends with entry {seen} of {last}")).into()),
        _ => Ok(()),
    }
}

/// What the folder holds, while no server has it or beside whoever has.
fn read(data: &DataArgs, out: &mut Out) -> Result<(), Stopped> {
    let mut reader = folder::look(data)?;
    rules::hold(reader.as_mut(), &data.data.join("journal.db"))?;
    let archive = Archive::of(&data.data)?;
    let head = reader.head()?;
    let upto = head.chain.seq;
    let stands = head.at.max(Clock::noted_in(&data.data));
    let clock = stands.filter(|_| Clock::is_manual_in(&data.data));
    out.line(&lines::about(Clock::System.now(), upto, true, clock).to_string())?;
    for it in reader.definitions()? {
        out.line(&lines::definition(&it).to_string())?;
    }
    lines::each_record::<Stopped>(reader.as_mut(), &archive, upto, &mut |record| {
        out.line(&lines::record(record).to_string())
    })?;
    let looked = Artifacts::of(&data.data)
        .each(|id, content| -> Result<(), Stopped> { out.line(&lines::artifact(id, content).to_string()) })?;
    if !looked.damaged.is_empty() {
        let names = looked.damaged.join(", ");
        print::message(&format!("left out, because their content is not what their name says: {names}"));
    }
    Ok(())
}

/// Standard output, or a file that gets its name when it is there as a whole.
enum Out {
    Printed,
    File { to: PathBuf, part: PathBuf, file: BufWriter<File>, lines: u64 },
}

impl Out {
    fn new(to: Option<&Path>) -> Result<Self, Stopped> {
        let Some(to) = to else { return Ok(Self::Printed) };
        if to.exists() {
            return Err(Stopped::usage(format!("{} is there already: name another file", to.display())));
        }
        let mut part = to.as_os_str().to_owned();
        part.push(".partial");
        let part = PathBuf::from(part);
        let file = File::create(&part).map_err(|it| unwritten(&part, &it))?;
        Ok(Self::File { to: to.to_owned(), part, file: BufWriter::new(file), lines: 0 })
    }

    fn line(&mut self, text: &str) -> Result<(), Stopped> {
        match self {
            Self::Printed => {
                print::line(text);
                Ok(())
            }
            Self::File { part, file, lines, .. } => {
                *lines += 1;
                writeln!(file, "{text}").map_err(|it| unwritten(part, &it))
            }
        }
    }

    fn done(self) -> Result<(), Stopped> {
        let Self::File { to, part, mut file, lines } = self else { return Ok(()) };
        let finished =
            file.flush().and_then(|()| file.get_ref().sync_all()).and_then(|()| fs::rename(&part, &to));
        finished.map_err(|it| unwritten(&to, &it))?;
        print::message(&format!("{} in {}", counted(lines, "line", "lines"), to.display()));
        Ok(())
    }

    fn dropped(self) {
        if let Self::File { part, .. } = self {
            let _ = fs::remove_file(part);
        }
    }
}

fn unwritten(path: &Path, error: &io::Error) -> Stopped {
    Stopped { why: files::unwritten(path, error), code: exit::UNREACHABLE }
}
