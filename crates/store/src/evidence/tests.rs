//! A file tampered with in every part, each change found and named.

use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};
use trackside_engine::event::{Changes, Entry, Event};
use trackside_lifecycle::hex;
use trackside_lifecycle::value::Value;

use super::{Bundle, EvidenceJudgement, EvidenceLine, EvidenceRequest, EvidenceVerdict, verify};
use crate::archive::Archive;
use crate::conformance::sample::{Press, entry, key, name};
use crate::{Chain, MemoryStore, Record, Store as _, StoreError};

const OWN: &str = "t.thing/A";
const REQUEST: &str = "t.request/R";
const OTHER: &str = "t.other/private";
const CONTENT: &[u8] = b"the report";

fn id_of(content: &[u8]) -> String {
    let hash: [u8; 32] = Sha256::digest(content).into();
    hex::encode(hash)
}

fn changed(seq: u64, entity: &str, field: &str, value: Value) -> Entry {
    let changes = Changes { fields: vec![(name(field), value)], ..Changes::default() };
    Entry { event: Event::FieldsChanged { changes }, ..entry(seq, entity) }
}

fn created(seq: u64, entity: &str) -> Entry {
    let changes = Changes { fields: vec![(name("title"), Value::text("A title"))], ..Changes::default() };
    Entry {
        event: Event::Created { definition: 1, state: name("OPEN"), generation: 1, changes },
        ..entry(seq, entity)
    }
}

/// Twelve entries: of the entity 2, 5 and 9; of a request about it 6 and 7; the others belong to other entities.
fn story() -> Vec<Entry> {
    let mut all: Vec<Entry> = (1..=12).map(|it| entry(it, OTHER)).collect();
    all[0] = created(1, OTHER);
    all[1] = created(2, OWN);
    all[4] = changed(5, OWN, "report", Value::text(&format!("see /v1/artifacts/{}", id_of(CONTENT))));
    all[5] = created(6, REQUEST);
    all[6] = changed(7, REQUEST, "note", Value::text("yes"));
    all[8] = changed(9, OWN, "cost", Value::Float(1.25));
    all
}

fn written() -> Vec<Record> {
    Press::default().batch(&story()).records
}

fn wanted() -> EvidenceRequest {
    EvidenceRequest {
        entity: key(OWN),
        newest: 9,
        approvals: vec![(key(REQUEST), 7)],
        upto: 12,
        at: "2026-01-01T00:00:00Z".to_owned(),
        by: "root".to_owned(),
    }
}

/// The file, line by line.
fn file_of(records: Vec<Record>, wanted: &EvidenceRequest) -> Vec<Json> {
    let memory = MemoryStore::new();
    memory.journal().unwrap().append(&crate::Batch { records, definitions: Vec::new() }).unwrap();
    let (mut reader, archive) = (memory.reader().unwrap(), Archive::default());
    let bundle = Bundle::gather(&mut *reader, &archive, wanted).unwrap();
    let mut lines = Vec::new();
    let content = |id: &str| Ok((id == id_of(CONTENT)).then(|| CONTENT.to_vec()));
    let mut say = |line: &EvidenceLine| -> Result<(), StoreError> {
        lines.push(serde_json::to_value(line).unwrap());
        Ok(())
    };
    bundle.write(&mut *reader, &archive, &content, &mut say).unwrap();
    lines
}

fn text(lines: &[Json]) -> String {
    lines.iter().map(|it| format!("{it}\n")).collect()
}

fn judged(lines: &[Json]) -> EvidenceVerdict {
    verify(text(lines).as_bytes(), &[]).unwrap()
}

fn told(verdict: &EvidenceVerdict) -> Vec<String> {
    let chain = verdict.audit.problems.iter().map(ToString::to_string);
    chain.chain(verdict.flaws.iter().map(ToString::to_string)).collect()
}

/// The problems after a change.
fn found(change: impl FnOnce(&mut Vec<Json>)) -> Vec<String> {
    let mut lines = file_of(written(), &wanted());
    change(&mut lines);
    let verdict = judged(&lines);
    let told = told(&verdict);
    assert_eq!(verdict.judgement() == EvidenceJudgement::Broken, !told.is_empty());
    told
}

/// The place of the line with this entry.
fn at(lines: &[Json], seq: u64) -> usize {
    lines
        .iter()
        .position(|it| it["record"]["seq"] == json!(seq) || it["links"]["first"] == json!(seq))
        .unwrap()
}

fn place(lines: &[Json], kind: &str) -> usize {
    lines.iter().position(|it| it.get(kind).is_some()).unwrap()
}

fn replaced(value: &mut Json, from: &str, to: &str) {
    let old = value.as_str().unwrap();
    assert!(old.contains(from), "{old}");
    *value = json!(old.replace(from, to));
}

#[test]
fn untouched_evidence_is_intact_and_complete() {
    let lines = file_of(written(), &wanted());
    let verdict = judged(&lines);
    assert_eq!(told(&verdict), [""; 0]);
    assert_eq!(verdict.judgement(), EvidenceJudgement::Intact);
    assert_eq!((verdict.audit.entries, verdict.hidden), (11, 6), "from its first entry to the end");
    assert_eq!((verdict.audit.from.seq, verdict.audit.to.seq), (1, 12));
    assert_eq!(verdict.about.approvals, [REQUEST]);
    let entities: Vec<_> = verdict.entities.iter().map(|it| (it.id.as_str(), it.entries)).collect();
    assert_eq!(entities, [("R", 2), ("A", 3)]);
    assert_eq!(verdict.entities[1].fields["cost"], json!(1.25));
    assert_eq!(verdict.artifacts.into_iter().collect::<Vec<_>>(), [(id_of(CONTENT), 10)]);
}

#[test]
fn evidence_contains_no_data_of_other_entities() {
    let text = text(&file_of(written(), &wanted()));
    assert!(text.contains("A title") && !text.contains("private") && !text.contains("t.other"), "{text}");
}

#[test]
fn every_part_of_an_entry_is_covered() {
    let header = found(|it| {
        let at = at(it, 5);
        replaced(&mut it[at]["record"]["header"], "ada", "eve");
    });
    assert_eq!(header, ["entry 5 was changed, or entry 4 before it was replaced"]);
    let payload = found(|it| {
        let at = at(it, 9);
        replaced(&mut it[at]["record"]["payload"], "1.25", "0.25");
    });
    assert!(payload.contains(&"the payload of entry 9 was changed".to_owned()), "{payload:?}");
    let gone = found(|it| {
        let at = at(it, 9);
        it[at]["record"]["payload"] = json!(null);
    });
    assert!(
        gone.contains(&"the payload of entry 9 is missing, and no entry records why".to_owned()),
        "{gone:?}"
    );
    let cut = found(|it| drop(it.remove(at(it, 9))));
    assert!(cut.contains(&"entry 9 was removed".to_owned()), "{cut:?}");
    let swapped = found(|it| {
        let (one, other) = (at(it, 6), at(it, 7));
        it.swap(one, other);
    });
    assert!(swapped.contains(&"entry 6 comes after entry 7".to_owned()), "{swapped:?}");
}

#[test]
fn the_digests_of_others_are_covered() {
    let changed = found(|it| {
        let at = at(it, 3);
        let bodies = it[at]["links"]["bodies"].as_str().unwrap().to_owned();
        let first = if bodies.starts_with('A') { "B" } else { "A" };
        it[at]["links"]["bodies"] = json!(format!("{first}{}", &bodies[1..]));
    });
    assert_eq!(changed, ["the digest of one of the entries 3 to 4 was changed"]);
    assert_eq!(found(|it| drop(it.remove(at(it, 3)))), ["entries 3 to 4 were removed"]);
    let hash = found(|it| {
        let at = at(it, 3);
        it[at]["links"]["hash"] = json!("0".repeat(64));
    });
    assert_eq!(hash[0], "the digest of one of the entries 3 to 4 was changed");
    let twice = found(|it| {
        let at = at(it, 3);
        it.insert(at, it[at].clone());
    });
    assert_eq!(twice, ["entry 3 comes after entry 4"]);
    let none = found(|it| {
        let at = at(it, 3);
        it[at]["links"]["bodies"] = json!("");
    });
    assert!(none[1].contains("0 bytes are not a list of digests"), "{none:?}");
}

#[test]
fn an_entry_of_the_entity_cannot_pass_for_one_of_others() {
    let records = written();
    let hidden = found(|it| {
        let (at, record) = (at(it, 5), &records[4]);
        it[at] = json!({ "links": super::Links::new(5, &[record.body()], record.hash) });
        let artifact = place(it, "artifact");
        it.remove(artifact);
    });
    assert!(hidden.contains(&format!("entry 5 of {OWN} is missing")), "{hidden:?}");
}

#[test]
fn the_header_is_checked_against_the_entries() {
    let entity = format!("the state given for {OWN} does not match its entries");
    let place_of = |it: &[Json]| it.iter().position(|it| it["entity"]["id"] == "A").unwrap();
    let cost = found(|it| {
        let at = place_of(it);
        it[at]["entity"]["fields"]["cost"] = json!(0.25);
    });
    assert_eq!(cost, std::slice::from_ref(&entity));
    assert_eq!(found(|it| drop(it.remove(place_of(it)))), [entity]);
    let approvals = found(|it| it[0]["evidence"]["approvals"] = json!([]));
    assert_eq!(approvals[0], format!("entry 6 belongs to {REQUEST}, which this file does not cover"));
    let more = found(|it| it[0]["evidence"]["approvals"] = json!([REQUEST, "t.request/S"]));
    assert_eq!(more, ["the file has no entry of t.request/S"]);
    let head = found(|it| it[0]["evidence"]["head"]["hash"] = json!("0".repeat(64)));
    assert_eq!(head, ["entry 12 does not match the hash noted for it"]);
    let before = found(|it| it[0]["evidence"]["before"]["hash"] = json!("0".repeat(64)));
    assert_eq!(before, ["entry 2 was changed, or entry 1 before it was replaced"]);
}

#[test]
fn artifacts_match_their_hashes() {
    let name = id_of(CONTENT);
    let changed = found(|it| {
        let at = place(it, "artifact");
        replaced(&mut it[at]["artifact"]["content"]["base64"], "d", "e");
    });
    assert_eq!(changed, [format!("the artifact {name} was changed")]);
    let gone = found(|it| drop(it.remove(place(it, "artifact"))));
    assert_eq!(gone, [format!("the artifact {name} is missing, but an entry refers to it")]);
    let other = id_of(b"other");
    let more = found(|it| {
        it.push(json!({ "artifact": { "sha256": other, "content": { "size": 5, "from": 0, "base64": "b3RoZXI=" } } }))
    });
    assert_eq!(more, [format!("no entry refers to the artifact {other}")]);
}

#[test]
fn a_truncated_or_extended_file_is_not_intact() {
    let lines = file_of(written(), &wanted());
    let whole = text(&lines);
    let short = &whole[..whole.len() - 4];
    let verdict = verify(short.as_bytes(), &[]).unwrap();
    assert!(told(&verdict)[0].contains("it is cut off"), "{:?}", told(&verdict));
    let verdict = judged(&lines[..at(&lines, 9)]);
    assert!(told(&verdict).contains(&"entries 9 to 12 were removed".to_owned()), "{:?}", told(&verdict));
    let last = written().pop().unwrap();
    let forged =
        Chain { seq: 12, hash: last.hash }.seal(changed(13, OWN, "cost", Value::Float(9.0)), 9).unwrap();
    let beyond = found(|it| it.push(json!({ "record": crate::record::RecordLine::from(&forged) })));
    assert!(
        beyond.contains(&"the file says that it ends at entry 12, but it continues to 13".to_owned()),
        "{beyond:?}"
    );
    for nothing in ["", "{}\n", "not json\n", "{\"entity\":{}}\n"] {
        assert!(verify(nothing.as_bytes(), &[]).is_err(), "{nothing}");
    }
}

#[test]
fn a_forged_file_does_not_match_the_noted_end() {
    let records = written();
    let noted = |seq: usize| Chain { seq: seq as u64, hash: records[seq - 1].hash };
    let mut story = story();
    story[8] = changed(9, OWN, "cost", Value::Float(0.25));
    let forged = file_of(Press::default().batch(&story).records, &wanted());
    assert_eq!(judged(&forged).judgement(), EvidenceJudgement::Intact, "the file itself is intact");
    // A noted end within the range is compared, whether or not the entry is included.
    for seq in [9, 11, 12] {
        let verdict = verify(text(&forged).as_bytes(), &[noted(seq)]).unwrap();
        let wanted = format!("entry {seq} does not match the hash noted for it");
        assert!(told(&verdict).contains(&wanted), "{seq}: {:?}", told(&verdict));
    }
    let honest = text(&file_of(records.clone(), &wanted()));
    let all: Vec<Chain> = (1..=12).map(noted).collect();
    let verdict = verify(honest.as_bytes(), &all).unwrap();
    assert_eq!((told(&verdict), verdict.outside), (vec![], vec![]));
    let later = Chain { seq: 40, ..noted(12) };
    assert_eq!(verify(honest.as_bytes(), &[later]).unwrap().outside, [40]);
}

#[test]
fn redacted_entries_are_reported() {
    let mut story = story();
    story[9] = Entry {
        event: Event::Redacted {
            entries: vec![9],
            changes: Changes { fields: vec![(name("cost"), Value::Null)], ..Changes::default() },
        },
        ..entry(10, OWN)
    };
    let mut records = Press::default().batch(&story).records;
    records[8].payload = None;
    let verdict = judged(&file_of(records, &EvidenceRequest { newest: 10, ..wanted() }));
    assert_eq!(told(&verdict), [""; 0]);
    let own = verdict.entities.iter().find(|it| it.id == "A").unwrap();
    assert_eq!((own.entries, own.redacted, verdict.audit.redacted), (4, 1, 1));
    assert_eq!((verdict.audit.dropped[0].by, verdict.audit.dropped[0].payloads), (10, 1));
}

#[test]
fn entries_of_the_first_format_are_shown_without_their_payload() {
    let mut chain = Chain::default();
    let mut records = written();
    for record in &mut records {
        record.format = 1;
        record.hash = chain.covering(record);
        chain = Chain { seq: record.seq, hash: record.hash };
    }
    let mut lines = file_of(records, &wanted());
    let verdict = judged(&lines);
    assert_eq!((told(&verdict), verdict.hidden, verdict.audit.redacted), (vec![], 6, 0));
    assert!(lines.iter().filter_map(|it| it.get("bare")).all(|it| it["payload"].is_null()));
    let at = place(&lines, "bare");
    replaced(&mut lines[at]["bare"]["header"], "ada", "eve");
    assert_eq!(told(&judged(&lines)), ["entry 3 was changed, or entry 2 before it was replaced"]);
}

#[test]
fn long_stretches_of_other_entries_are_split() {
    let mut press = Press::default();
    let mut all = vec![created(1, OWN)];
    all.extend((2..=2_500).map(|it| entry(it, OTHER)));
    all.push(changed(2_501, OWN, "cost", Value::Int(1)));
    let records = press.batch(&all).records;
    let wanted = EvidenceRequest { newest: 2_501, upto: 2_501, approvals: Vec::new(), ..wanted() };
    let lines = file_of(records, &wanted);
    assert_eq!(lines.iter().filter(|it| it.get("links").is_some()).count(), 3);
    let verdict = judged(&lines);
    assert_eq!((told(&verdict), verdict.hidden), (vec![], 2_499));
    let size = text(&lines).len() as u64 / verdict.audit.entries;
    assert!(size < 50, "{size} bytes for an entry");
}

#[test]
fn evidence_of_a_later_release_is_refused() {
    let mut lines = file_of(written(), &wanted());
    let first = lines[0].as_object_mut().unwrap().values_mut().next().unwrap();
    first["format"] = json!(99);
    let refused = verify(text(&lines).as_bytes(), &[]).unwrap_err().to_string();
    assert!(refused.contains("newer release (format 99"), "{refused}");
}

#[test]
fn an_entry_of_a_later_release_is_refused() {
    let mut record = written().remove(0);
    record.entry().unwrap();
    record.format = 99;
    let refused = record.entry().unwrap_err().to_string();
    assert!(refused.contains("it has format 99") && refused.contains("Use a newer release"), "{refused}");
}
