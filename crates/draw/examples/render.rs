use std::path::Path;
#[path = "../tests/folder/mod.rs"]
mod folder;
fn main() {
    for p in ["build", "coding", "mission", "research", "turns"] {
        let pack = folder::pack(&Path::new("packs").join(p)).0;
        for g in trackside_draw::graph::Graph::of_pack(&pack) {
            let t = std::time::Instant::now();
            let pic = trackside_draw::Picture::of(&g);
            let el = t.elapsed();
            for w in [60, 80, 100] {
                std::fs::write(format!("/tmp/draw/{}.{w}.txt", g.name), g.text(w).plain()).unwrap();
            }
            println!("{} {:?} {:?}", g.name, pic.size(), el);
            for (n, th) in
                [("light", trackside_draw::svg::Theme::Light), ("dark", trackside_draw::svg::Theme::Dark)]
            {
                std::fs::write(format!("/tmp/draw/{}.{n}.svg", g.name), pic.svg(th)).unwrap();
            }
        }
    }
}
