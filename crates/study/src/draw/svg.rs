//! Drawings as self-contained SVG files, light and dark.

mod theme;

use crate::draw::layout::{LayoutPoint, LinkPath, PathSegment};
use crate::draw::metrics::ROOM;
use crate::draw::picture::{ABOUT, KEY, Line, MARGIN, Picture};
use crate::draw::scene::{BoxShape, Row, SceneBox, Style};
use trackside_lifecycle::printable::is_printable;
use trackside_protocol::diagram::RuleKind;

pub use theme::Theme;

impl Picture {
    pub fn svg(&self, theme: Theme) -> String {
        let mut out = Svg::open(&self.name, &self.about.join(" "), self.width, self.height, theme);
        out.text(MARGIN, MARGIN + 14.0, "title", "start", &self.name);
        for (n, line) in self.about.iter().enumerate() {
            let y = MARGIN + 36.0 + n as f64 * 18.0;
            out.line(&format!(
                r#"<text class="about" x="{}" y="{}" font-size="{ABOUT}">{}</text>"#,
                tidy(MARGIN),
                tidy(y),
                escaped(line)
            ));
        }
        for line in &self.lines {
            out.path(line);
        }
        for line in &self.loops {
            out.path(line);
        }
        for (at, block) in &self.blocks {
            out.block(*at, block);
        }
        for line in self.lines.iter().chain(&self.loops) {
            out.label(line);
        }
        out.key(self);
        out.close()
    }
}

/// An SVG text under way.
pub(crate) struct Svg(String);

impl Svg {
    pub fn open(title: &str, about: &str, width: f64, height: f64, theme: Theme) -> Self {
        let (w, h) = (tidy(width), tidy(height));
        let mut svg = Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" role=\"img\" aria-labelledby=\"title desc\">\n"
        ));
        svg.line(&format!(r#"<title id="title">{}</title>"#, escaped(title)));
        svg.line(&format!(r#"<desc id="desc">{}</desc>"#, escaped(about)));
        svg.line(&format!("<style>\n{}</style>", theme.css()));
        svg.line("<defs>");
        for kind in ["asked", "timed", "engine"] {
            svg.line(&format!(
                r#"<marker id="{kind}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto"><path class="head {kind}" d="M0 0.8 L10 5 L0 9.2 L2.2 5 Z"/></marker>"#
            ));
        }
        svg.line(
            r#"<marker id="cross" viewBox="0 0 10 10" refX="6" refY="5" markerWidth="11" markerHeight="11" markerUnits="userSpaceOnUse" orient="auto"><path class="way refused" d="M1 1 L9 9 M9 1 L1 9"/></marker>"#,
        );
        svg.line("</defs>");
        svg.line(&format!(r#"<rect class="page" width="{w}" height="{h}" rx="10"/>"#));
        svg
    }

    pub fn line(&mut self, text: &str) {
        self.0.push_str(text);
        self.0.push('\n');
    }

    pub fn text(&mut self, x: f64, y: f64, class: &str, anchor: &str, text: &str) {
        let anchor = if anchor == "start" { String::new() } else { format!(r#" text-anchor="{anchor}""#) };
        let (x, y) = (tidy(x), tidy(y));
        self.line(&format!(r#"<text class="{class}" x="{x}" y="{y}"{anchor}>{}</text>"#, escaped(text)));
    }

    pub fn close(mut self) -> String {
        self.0.push_str("</svg>\n");
        self.0
    }

    fn path(&mut self, line: &Line) {
        let kind = name(line.kind);
        let main = if line.main { " main" } else { "" };
        self.line(&format!(
            r#"<path class="way {kind}{main}" d="{}" marker-end="url(#{kind})"/>"#,
            data(&line.route)
        ));
    }

    fn block(&mut self, at: LayoutPoint, block: &SceneBox) {
        let class = block.shape.class();
        self.line(&format!(r#"<g class="{class}">"#));
        self.line(&format!("<title>{}</title>", escaped(&block.full)));
        let (w, h) = (block.width, block.height);
        let (x, y) = (at.x - w / 2.0, at.y - h / 2.0);
        match &block.shape {
            BoxShape::Start => {
                self.line(&format!(r#"<circle class="dot" cx="{}" cy="{}" r="7"/>"#, tidy(at.x), tidy(at.y)));
            }
            BoxShape::Several => self.rect("edge", x, y, w, h, h.min(26.0) / 2.0),
            BoxShape::State { last, .. } => {
                self.rect("edge", x, y, w, h, 9.0);
                if *last {
                    self.rect("inner", x + 3.5, y + 3.5, w - 7.0, h - 7.0, 6.0);
                }
            }
        }
        self.rows(at, &block.rows);
        self.line("</g>");
    }

    pub fn rect(&mut self, class: &str, x: f64, y: f64, w: f64, h: f64, round: f64) {
        let (x, y, w, h, round) = (tidy(x), tidy(y), tidy(w), tidy(h), tidy(round));
        self.line(&format!(
            r#"<rect class="{class}" x="{x}" y="{y}" width="{w}" height="{h}" rx="{round}"/>"#
        ));
    }

    fn label(&mut self, line: &Line) {
        let label = &line.label;
        if label.rows.is_empty() {
            return;
        }
        let at = line.route.label;
        self.line("<g>");
        self.line(&format!("<title>{}</title>", escaped(&label.full)));
        self.rect(
            "plate",
            at.x - label.width / 2.0,
            at.y - label.height / 2.0,
            label.width,
            label.height,
            4.0,
        );
        self.rows(at, &label.rows);
        self.line("</g>");
    }

    /// Lines of text around a middle.
    fn rows(&mut self, at: LayoutPoint, rows: &[Row]) {
        let mut y = at.y - rows.iter().map(Row::height).sum::<f64>() / 2.0;
        for row in rows {
            let size = row.height() / 1.3;
            let base = y + row.height() / 2.0 + size * 0.35;
            let mark = row.pieces.iter().find(|it| it.style == Style::Mark).map_or(0.0, |it| it.width);
            // Text beside a mark starts at the mark, so that a wider font cannot cover it.
            let (x, anchor) = match mark > 0.0 {
                true => {
                    let text = (row.width() - mark) / ROOM;
                    let x = at.x + (mark - text) / 2.0;
                    self.clock(x - 8.0, base - 3.8);
                    (x, "")
                }
                false => (at.x, r#" text-anchor="middle""#),
            };
            let pieces = row.pieces.iter().filter(|it| it.style != Style::Mark);
            let spans: String = pieces
                .map(|it| format!(r#"<tspan class="{}">{}</tspan>"#, class(it.style), escaped(&it.text)))
                .collect();
            self.line(&format!(
                r#"<text x="{}" y="{}"{anchor} xml:space="preserve">{spans}</text>"#,
                tidy(x),
                tidy(base)
            ));
            y += row.height();
        }
    }

    fn clock(&mut self, x: f64, y: f64) {
        let (a, b) = (tidy(x), tidy(y));
        self.line(&format!(
            r#"<g class="clock"><circle cx="{a}" cy="{b}" r="4.6"/><path d="M{a} {} V{b} L{} {}"/></g>"#,
            tidy(y - 2.8),
            tidy(x + 2.0),
            tidy(y + 1.3)
        ));
    }

    /// The legend of the lines that the picture has.
    fn key(&mut self, picture: &Picture) {
        let mut entries = vec![
            (RuleKind::Asked, "asked for by people and agents", 218.0),
            (RuleKind::Timed, "by time", 100.0),
            (RuleKind::Engine, "by the engine", 132.0),
        ];
        let is_drawn = |kind| picture.lines.iter().chain(&picture.loops).any(|it| it.kind == kind);
        let all: f64 = entries.iter().map(|(_, _, step)| step).sum();
        entries.retain(|(kind, _, _)| is_drawn(*kind));
        let left_out = all - entries.iter().map(|(_, _, step)| step).sum::<f64>();
        let mut x = (picture.width - KEY.0 + left_out) / 2.0;
        let middle = picture.key + KEY.1 / 2.0;
        for (kind, words, step) in entries {
            let kind = name(kind);
            let (a, b, c) = (tidy(x), tidy(middle), tidy(x + 28.0));
            self.line(&format!(r#"<path class="way {kind}" d="M{a} {b} H{c}" marker-end="url(#{kind})"/>"#));
            self.text(x + 35.0, middle + 3.8, "key", "start", words);
            x += step;
        }
        self.line(r#"<g class="state last">"#);
        self.rect("edge", x, middle - 8.0, 28.0, 16.0, 5.0);
        self.rect("inner", x + 2.5, middle - 5.5, 23.0, 11.0, 3.0);
        self.line("</g>");
        self.text(x + 35.0, middle + 3.8, "key", "start", "final state");
    }
}

pub(crate) fn name(kind: RuleKind) -> &'static str {
    match kind {
        RuleKind::Asked => "asked",
        RuleKind::Timed => "timed",
        RuleKind::Engine => "engine",
    }
}

fn class(style: Style) -> &'static str {
    match style {
        Style::State => "name",
        Style::About => "about",
        Style::Clock => "time",
        Style::Lease => "lease",
        Style::Several => "names",
        Style::Asked => "asked",
        Style::Timed => "timed",
        Style::Engine => "engine",
        Style::Who => "who",
        Style::When => "when",
        Style::Mark => "mark",
    }
}

fn data(route: &LinkPath) -> String {
    let point = |it: LayoutPoint| format!("{} {}", tidy(it.x), tidy(it.y));
    let mut text = format!("M{}", point(route.start));
    for step in &route.steps {
        match step {
            PathSegment::Line(to) => text.push_str(&format!(" L{}", point(*to))),
            PathSegment::Curve(one, two, to) => {
                text.push_str(&format!(" C{} {} {}", point(*one), point(*two), point(*to)));
            }
        }
    }
    text
}

/// A number with at most one decimal.
pub(crate) fn tidy(number: f64) -> String {
    let text = format!("{number:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// Text as XML takes it.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            // XML has no way to write these.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c if !is_printable(c) => out.push_str(&format!("&#{};", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}
