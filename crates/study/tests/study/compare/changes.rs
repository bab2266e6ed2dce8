//! One case per kind of change: a definition, a change of its text, and the reported changes.

use super::definition::{PACKS, Texts};
use trackside_study::compare::{compare, group_by_lifecycle};

fn shop() -> Texts {
    Texts {
        pack: include_str!("definition/pack.yaml").to_owned(),
        lifecycles: vec![
            include_str!("definition/shop.yaml").to_owned(),
            include_str!("definition/wagon.yaml").to_owned(),
            include_str!("definition/clerk.yaml").to_owned(),
        ],
    }
}

/// The shop with one text put for another.
fn change_text(from: &str, to: &str) -> Result<Texts, String> {
    let mut texts = shop();
    let mut found = 0;
    for text in texts.lifecycles.iter_mut().chain([&mut texts.pack]) {
        found += text.matches(from).count();
        *text = text.replace(from, to);
    }
    match found {
        1 => texts.compiled().map(|_| texts),
        _ => Err(format!("`{from}` must be there once, not {found} times")),
    }
}

/// The reported changes, each as `kind direction: sentence`, in their order.
fn change_lines(old: &Texts, new: &Texts) -> Vec<String> {
    let [old, new] = [old, new].map(|it| it.compiled().unwrap_or_else(|it| panic!("{it}")));
    let changes = compare(&old, &new);
    let groups = group_by_lifecycle(&changes).into_iter().flat_map(|(_, list)| list);
    groups.map(|it| format!("{} {}: {}", it.kind.as_str(), it.direction.as_str(), it.sentence)).collect()
}

#[test]
fn every_kind_of_change_is_reported() {
    let (mut lines, mut wrong) = (String::new(), String::new());
    for case in include_str!("definition/cases.txt").lines() {
        let Some((from, to)) = case.split_once(" ==> ") else {
            lines += &format!("{case}\n");
            continue;
        };
        lines += &format!("{case}\n");
        let whole = |text: &str| text.replace("\\n", "\n");
        match change_text(&whole(from), &whole(to)) {
            Ok(texts) => change_lines(&shop(), &texts).iter().for_each(|it| lines += &format!("    {it}\n")),
            Err(problem) => wrong += &format!("{case}\n{problem}\n"),
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    insta::assert_snapshot!(lines);
}

#[test]
fn a_lifecycle_comes_and_goes() {
    let mut less = shop();
    less.lifecycles.push("lifecycle: shop.van\ncreate: { by: human }\nstates: { IDLE: { initial: true }, GONE: { final: true } }\ntransitions: { sell: { from: IDLE, to: GONE, by: human } }\n".to_owned());
    assert_eq!(change_lines(&shop(), &less), ["added looser: new lifecycle shop.van"]);
    assert_eq!(change_lines(&less, &shop()), ["removed tighter: lifecycle shop.van is gone"]);
}

#[test]
fn a_pack_does_not_differ_from_itself() {
    for name in PACKS {
        let texts = Texts::shipped_pack(name);
        assert_eq!(change_lines(&texts, &texts), [""; 0], "{name}");
    }
    assert_eq!(change_lines(&shop(), &shop()), [""; 0]);
}
