//! `trackside diagram`: lifecycles as drawings and in the notations of others.

use std::path::{Path, PathBuf};

use serde_json::json;
use trackside_lifecycle::compile::compile;
use trackside_lifecycle::guard::nearest;
use trackside_lifecycle::source::Sources;
use trackside_protocol::diagram::Graph;
use trackside_study::draw::graph::pack_graphs;
use trackside_study::draw::page::{TextPage, Tone};
use trackside_study::draw::svg::Theme;
use trackside_study::draw::text::terminal_drawing;
use trackside_study::draw::{Picture, export};

use crate::args::{DiagramArgs, DiagramFormat, DiagramTheme};
use crate::packs;
use crate::print::{self, Colour, painted_data};
use crate::styled::{BREAK, Styled};
use crate::{exit, files};

/// Default folders of packs.
const PACKS: &str = "packs";

pub(crate) fn run(args: &DiagramArgs) -> u8 {
    let (name, paths) = parse_arguments(args);
    let mut graphs = match graphs(&paths) {
        Ok(graphs) => graphs,
        Err(code) => return code,
    };
    // No path was given and the local packs lack it: try the built-in packs.
    if args.paths.is_empty()
        && (name.is_some_and(|name| !graphs.iter().any(|it| is_meant(it, name))) || paths.is_empty())
    {
        graphs.extend(built_in(&graphs));
    }
    let chosen: Vec<&Graph> = match name {
        Some(name) => graphs.iter().filter(|it| is_meant(it, name)).collect(),
        None => graphs.iter().collect(),
    };
    if chosen.is_empty() {
        print::message(unknown(name.unwrap_or_default(), &graphs));
        return exit::USAGE;
    }
    if args.json {
        let text = format!("{:#}", json!({ "lifecycles": chosen }));
        return match &args.output {
            Some(file) => written(file, &format!("{text}\n")),
            None => {
                print::json_text(&text);
                exit::DONE
            }
        };
    }
    match &args.output {
        Some(output) => save(&chosen, name, output, args),
        None if chosen.len() > 1 && !args.format.joins() => {
            print::message(
                "several lifecycles need several files: name a folder with --output, or one lifecycle",
            );
            exit::USAGE
        }
        None => {
            for (at, graph) in chosen.iter().enumerate() {
                if at > 0 {
                    print::line("");
                }
                show(graph, args);
            }
            exit::DONE
        }
    }
}

/// The lifecycle to draw, and the paths to search. A first word that names a file or folder is a path.
fn parse_arguments(args: &DiagramArgs) -> (Option<&str>, Vec<PathBuf>) {
    let mut paths = args.paths.clone();
    let mut name = args.lifecycle.as_deref();
    if let Some(word) = name
        && is_path(word)
    {
        paths.insert(0, PathBuf::from(word));
        name = None;
    }
    if paths.is_empty() {
        match Path::new("pack.yaml").is_file() {
            true => paths.push(PathBuf::from(".")),
            false => paths.extend(Path::new(PACKS).is_dir().then(|| PathBuf::from(PACKS))),
        }
    }
    (name, paths)
}

fn is_meant(graph: &Graph, name: &str) -> bool {
    *graph.name == *name || *graph.pack == *name
}

fn is_path(word: &str) -> bool {
    let path = Path::new(word);
    word.contains(std::path::MAIN_SEPARATOR)
        || path.join("pack.yaml").is_file()
        || word == "."
        || word == PACKS
}

fn graphs(paths: &[PathBuf]) -> Result<Vec<Graph>, u8> {
    let mut sources = Sources::default();
    let packs = packs::find_or_built_in_or_report(paths, &mut sources)?;
    let mut graphs = Vec::new();
    for pack in &packs {
        match compile(&sources, &pack.files) {
            Ok((pack, _)) => graphs.extend(pack_graphs(&pack)),
            Err(problems) => {
                print::problems(&problems, &sources);
                return Err(exit::REFUSED);
            }
        }
    }
    Ok(graphs)
}

/// The built-in packs, except those that are here.
fn built_in(here: &[Graph]) -> Vec<Graph> {
    let mut sources = Sources::default();
    let packs = packs::all_built_in(&mut sources);
    let others = packs.iter().filter(|it| !here.iter().any(|graph| *graph.pack == *it.name));
    let compiled = others.filter_map(|it| compile(&sources, &it.files).ok());
    compiled.flat_map(|(pack, _)| pack_graphs(&pack)).collect()
}

fn unknown(name: &str, graphs: &[Graph]) -> Styled {
    let mut known: Vec<&str> = graphs.iter().map(|it| it.name.as_str()).collect();
    known.sort_unstable();
    let packs = graphs.iter().map(|it| it.pack.as_str());
    let kinds = || graphs.iter().filter(|it| *it.kind == *name).map(|it| it.name.as_str());
    let near = nearest(name, known.iter().copied().chain(packs)).or_else(|| kinds().next());
    let hint = near.map(|it| format!("; did you mean {it}?")).unwrap_or_default();
    styled!("unknown lifecycle {name}{hint}{BREAK}known lifecycles: {}", known.join(", "))
}

/// One lifecycle in the requested format.
fn drawn(graph: &Graph, args: &DiagramArgs) -> String {
    match args.format {
        DiagramFormat::Text => page(graph, args).plain(),
        DiagramFormat::Svg => Picture::of(graph).svg(match args.theme {
            DiagramTheme::Light => Theme::Light,
            DiagramTheme::Dark => Theme::Dark,
            DiagramTheme::Auto => Theme::Auto,
        }),
        DiagramFormat::Mermaid => export::mermaid(graph),
        DiagramFormat::Dot => export::dot(graph),
        DiagramFormat::Scxml => export::scxml(graph),
        DiagramFormat::Xstate => export::xstate(graph),
    }
}

fn coloured(page: &TextPage) -> Styled {
    let piece = |tone: Tone, text: &str| match tone {
        Tone::Plain => text.into(),
        Tone::Strong => painted_data(text, Colour::Bold),
        Tone::Move => painted_data(text, Colour::Cyan),
        Tone::Main => painted_data(text, Colour::Blue),
        Tone::Time => painted_data(text, Colour::Yellow),
        Tone::Dim => painted_data(text, Colour::Dim),
        Tone::Good => painted_data(text, Colour::Green),
        Tone::Bad => painted_data(text, Colour::Red),
    };
    let mut lines: Vec<Styled> = page
        .trimmed()
        .map(|line| {
            let mut all = Styled::default();
            line.for_each(|(tone, text)| all.push(piece(tone, text)));
            all
        })
        .collect();
    while lines.last().is_some_and(|it| *it == Styled::default()) {
        lines.pop();
    }
    Styled::joined(lines)
}

/// To a file; several lifecycles, or a pack, to a folder with a file each.
fn save(chosen: &[&Graph], name: Option<&str>, output: &Path, args: &DiagramArgs) -> u8 {
    if let [one] = chosen
        && name == Some(one.name.as_str())
        && !output.is_dir()
    {
        return written(output, &drawn(one, args));
    }
    if output.is_file() {
        let many = chosen.len();
        print::message(styled!(
            "{} is a file, and there are {many} lifecycles to write: name a folder, or one lifecycle",
            output.display()
        ));
        return exit::USAGE;
    }
    if let Err(error) = std::fs::create_dir_all(output) {
        print::message(files::unwritten(output, &error));
        return exit::USAGE;
    }
    for graph in chosen {
        let file = output.join(format!("{}.{}", graph.name, args.format.extension()));
        let code = written(&file, &drawn(graph, args));
        if code != exit::DONE {
            return code;
        }
    }
    exit::DONE
}

fn page(graph: &Graph, args: &DiagramArgs) -> TextPage {
    terminal_drawing(graph, args.width.map_or_else(print::columns, usize::from))
}

/// Prints one lifecycle.
fn show(graph: &Graph, args: &DiagramArgs) {
    match args.format {
        DiagramFormat::Text => print::line(coloured(&page(graph, args))),
        DiagramFormat::Xstate => print::json_text(drawn(graph, args).trim_end()),
        _ => print::line(Styled::block(drawn(graph, args).trim_end())),
    }
}

fn written(file: &Path, text: &str) -> u8 {
    match std::fs::write(file, text) {
        Ok(()) => {
            print::message(styled!("wrote {}", file.display()));
            exit::DONE
        }
        Err(error) => {
            print::message(files::unwritten(file, &error));
            exit::USAGE
        }
    }
}
