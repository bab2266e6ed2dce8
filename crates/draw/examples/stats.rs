use std::path::Path;
#[path = "../tests/folder/mod.rs"]
mod folder;
fn main() {
    for p in ["build", "coding", "mission", "research", "turns"] {
        let pack = folder::pack(&Path::new("packs").join(p)).0;
        for g in trackside_draw::graph::Graph::of_pack(&pack) {
            let mut pairs = std::collections::BTreeMap::<_, Vec<_>>::new();
            for e in &g.edges {
                let w = if e.rule.kind == trackside_draw::graph::Kind::Engine {
                    "engine".to_string()
                } else {
                    e.rule.span.clone().unwrap_or(e.rule.who.clone())
                };
                pairs.entry((e.from.to_string(), e.to.to_string())).or_default().push(format!(
                    "{}·{}",
                    e.rule.label(),
                    w
                ));
            }
            println!(
                "\n## {} states {} edges {} pairs {}",
                g.name,
                g.nodes.len(),
                g.edges.len(),
                pairs.len()
            );
            for n in &g.nodes {
                println!(
                    "  [{}] {:?} {:?} {}",
                    n.name,
                    n.clocks.iter().map(|c| &c.words).collect::<Vec<_>>(),
                    n.leases.iter().map(|c| &c.slot).collect::<Vec<_>>(),
                    n.stays.len()
                );
            }
            for ((a, b), l) in pairs {
                println!("    {a} -> {b}: {}", l.join(" | "));
            }
        }
    }
}
