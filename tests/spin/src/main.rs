//! Our side of the comparison with `spin`, for `scripts/check-spin`.
//!
//! `write PACKS OUT` writes the models of every lifecycle as Promela, and our results, into a folder;
//! `judge OUT` compares them with the results of spin there.
#![expect(clippy::print_stdout, reason = "it is a program of its own, and prints what it found")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::{Deserialize, Serialize};
use trackside_lifecycle::compile::{PackFiles, compile};
use trackside_lifecycle::model::Pack;
use trackside_lifecycle::source::Sources;
use trackside_spin::{ModelSize, SearchFault, Verdicts, abstractions, promela, verdicts};

type MainResult<T> = Result<T, Box<dyn Error>>;

/// Far more worlds than any model has.
const ALL: usize = 10_000_000;

/// Our results for one model.
#[derive(Serialize, Deserialize)]
struct OurResult {
    file: String,
    lifecycle: String,
    entities: usize,
    states: Vec<String>,
    claims: Vec<ClaimResult>,
    left_out: Vec<String>,
    not_claimed: Vec<String>,
    plain: Verdicts,
    symmetric: Verdicts,
    /// The results with a fault planted in our search: without and with symmetry.
    faulty: BTreeMap<String, (Verdicts, Verdicts)>,
}

#[derive(Serialize, Deserialize)]
struct ClaimResult {
    name: String,
    exact: bool,
    wished: bool,
}

/// The results of spin for one model: for each claim, whether it was broken, and the number of stored
/// states.
#[derive(Default)]
struct SpinResult {
    broken: BTreeMap<String, bool>,
    stored: Option<usize>,
    seconds: f64,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["write", packs, out] => write(Path::new(packs), Path::new(out)).map(|()| true),
        ["judge", out] => judge(Path::new(out)),
        _ => Err("usage: trackside-spin write PACKS OUT | judge OUT".into()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            println!("{error}");
            ExitCode::from(2)
        }
    }
}

fn write(packs: &Path, out: &Path) -> MainResult<()> {
    fs::create_dir_all(out)?;
    let mut all = Vec::new();
    for folder in sorted_entries(packs)? {
        let pack = read(&folder)?;
        for life in &pack.lifecycles {
            for model in abstractions(&pack, life, ModelSize::default()) {
                let file = format!("{}-{}", life.name, model.entities);
                fs::write(out.join(format!("{file}.pml")), promela(&model))?;
                let both =
                    |fault| (verdicts(&model, false, ALL, 2, fault), verdicts(&model, true, ALL, 2, fault));
                let (plain, symmetric) = both(None);
                // The smaller models are enough to see a fault.
                let small = plain.worlds <= 20_000;
                let faults = SearchFault::ALL.into_iter().filter(|_| small);
                let faulty = faults.map(|it| (format!("{it:?}"), both(Some(it)))).collect();
                let claims = model.claims.iter();
                all.push(OurResult {
                    file,
                    lifecycle: life.name.to_string(),
                    entities: model.entities,
                    states: model.states().to_vec(),
                    claims: claims
                        .map(|it| ClaimResult { name: it.name.clone(), exact: it.exact, wished: it.wished })
                        .collect(),
                    left_out: model.left_out.clone(),
                    not_claimed: model.not_claimed.clone(),
                    plain,
                    symmetric,
                    faulty,
                });
            }
        }
    }
    let list: Vec<String> = all
        .iter()
        .map(|it| format!("{}\t{}\t{}\t{}\n", it.file, it.plain.worlds, it.states.len(), it.claims.len()))
        .collect();
    fs::write(out.join("models.tsv"), list.concat())?;
    fs::write(out.join("ours.json"), serde_json::to_string_pretty(&all)?)?;
    Ok(())
}

fn judge(out: &Path) -> MainResult<bool> {
    let all: Vec<OurResult> = serde_json::from_str(&fs::read_to_string(out.join("ours.json"))?)?;
    let mut spins: BTreeMap<String, SpinResult> = BTreeMap::new();
    for it in &all {
        let text = fs::read_to_string(out.join(format!("{}.spin", it.file)))?;
        spins.insert(it.file.clone(), read_spin(&text)?);
    }
    println!(
        "{:<22} {:>8} {:>9} {:>9} {:>9} {:>9} {:>16} {:>6}",
        "lifecycle", "entities", "ours", "spin", "symmetric", "states", "properties", "s"
    );
    let mut agreed = true;
    let mut weakened = 0;
    for it in &all {
        let Some(spin) = spins.get(&it.file) else { continue };
        let differences =
            [differences(it, spin, &it.plain, false), differences(it, spin, &it.symmetric, true)].concat();
        let reached = it.plain.reached.iter().filter(|it| **it).count();
        let kept =
            it.claims.iter().zip(&it.plain.found).filter(|(claim, found)| claim.wished == **found).count();
        weakened += it.claims.iter().filter(|it| !it.exact).count();
        println!(
            "{:<22} {:>8} {:>9} {:>9} {:>9} {:>9} {:>16} {:>6.1}",
            it.lifecycle,
            it.entities,
            it.plain.worlds,
            spin.stored.unwrap_or_default(),
            it.symmetric.worlds,
            format!("{reached}/{}", it.states.len()),
            format!("{kept} of {} kept", it.claims.len()),
            spin.seconds
        );
        for difference in &differences {
            println!("  disagreement: {difference}");
        }
        agreed &= differences.is_empty();
    }
    let claims: usize = all.iter().map(|it| it.claims.len()).sum();
    let states: usize = all.iter().map(|it| it.states.len()).sum();
    let how = if agreed { "alike" } else { "NOT ALIKE" };
    println!(
        "{} models: worlds counted, {states} states and {claims} properties judged {how}. {weakened} properties read something that \
         the models do not keep: that they are not kept then only means that it could not be ruled out.",
        all.len()
    );
    for it in all.iter().filter(|it| !it.left_out.is_empty()) {
        println!("left out of {} ×{}: {}", it.lifecycle, it.entities, it.left_out.join(", "));
    }
    let elsewhere: BTreeMap<&String, &Vec<String>> =
        all.iter().map(|it| (&it.lifecycle, &it.not_claimed)).filter(|(_, it)| !it.is_empty()).collect();
    for (lifecycle, properties) in elsewhere {
        println!("left to the exploration of the law, {lifecycle}: {}", properties.join("; "));
    }
    for (number, fault) in SearchFault::ALL.iter().enumerate() {
        let name = format!("{fault:?}");
        let seen = all.iter().filter(|it| {
            let (Some((plain, symmetric)), Some(spin)) = (it.faulty.get(&name), spins.get(&it.file)) else {
                return false;
            };
            !differences(it, spin, plain, false).is_empty()
                || !differences(it, spin, symmetric, true).is_empty()
        });
        let (seen, tried) = (seen.count(), all.iter().filter(|it| it.faulty.contains_key(&name)).count());
        match seen {
            0 => println!("planted fault {} ({name}): NOT FOUND in any of {tried} models", number + 1),
            _ => println!(
                "planted fault {} ({name}): disagreement found, as it must be, in {seen} of {tried} models",
                number + 1
            ),
        }
        agreed &= seen > 0;
    }
    Ok(agreed)
}

/// The differences between our results and those of spin.
fn differences(ours: &OurResult, spin: &SpinResult, found: &Verdicts, symmetric: bool) -> Vec<String> {
    let mut all = Vec::new();
    let how = if symmetric { " with symmetry" } else { "" };
    if spin.stored != Some(found.stand_for) {
        all.push(format!(
            "spin stored {:?} states, our worlds{how} stand for {}",
            spin.stored, found.stand_for
        ));
    }
    let states = ours
        .states
        .iter()
        .zip(&found.reached)
        .enumerate()
        .map(|(n, (name, it))| (format!("s_{n}"), name, it));
    let claims = ours.claims.iter().zip(&found.found).enumerate();
    let claims = claims.map(|(n, (claim, it))| (format!("p_{n}"), &claim.name, it));
    for (claim, name, found) in states.chain(claims) {
        match spin.broken.get(&claim) {
            Some(it) if it == found => {}
            Some(it) => all.push(format!("{name}: spin gets there: {it}, we{how}: {found}")),
            None => all.push(format!("{name}: spin did not answer")),
        }
    }
    all
}

/// Lines of `claim<TAB>errors<TAB>stored`, and one of `seconds<TAB>S`.
fn read_spin(text: &str) -> MainResult<SpinResult> {
    let mut spins = SpinResult::default();
    for line in text.lines() {
        let parts: Vec<&str> = line.split('\t').collect();
        match parts.as_slice() {
            ["seconds", seconds] => spins.seconds = seconds.parse()?,
            ["every", errors, stored] => {
                spins.stored = Some(stored.parse()?);
                if *errors != "0" {
                    return Err(format!("spin counted, and found {errors} errors").into());
                }
            }
            [claim, errors, _] => {
                spins.broken.insert((*claim).to_owned(), errors.parse::<u32>()? > 0);
            }
            _ => return Err(format!("`{line}` is no answer of spin").into()),
        }
    }
    Ok(spins)
}

fn read(folder: &Path) -> MainResult<Pack> {
    let mut sources = Sources::default();
    let mut add = |path: &Path| -> MainResult<_> {
        Ok(sources.add(path.display().to_string(), fs::read_to_string(path)?))
    };
    let pack = add(&folder.join("pack.yaml"))?;
    let lifecycles = sorted_entries(&folder.join("lifecycles"))?
        .iter()
        .map(|it| add(it))
        .collect::<MainResult<Vec<_>>>()?;
    match compile(&sources, &PackFiles { pack, lifecycles }) {
        Ok((pack, _)) => Ok(pack),
        Err(problems) => Err(problems.render(&sources, false).into()),
    }
}

fn sorted_entries(folder: &Path) -> MainResult<Vec<PathBuf>> {
    let mut all = fs::read_dir(folder)?.map(|it| Ok(it?.path())).collect::<MainResult<Vec<PathBuf>>>()?;
    all.sort();
    Ok(all)
}
