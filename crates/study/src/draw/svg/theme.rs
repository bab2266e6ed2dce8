//! Colours and fonts.

/// Light, dark, or the reader's preference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    Light,
    Dark,
    #[default]
    Auto,
}

struct Palette {
    page: &'static str,
    text: &'static str,
    muted: &'static str,
    faint: &'static str,
    fill: &'static str,
    line: &'static str,
    way: &'static str,
    time: &'static str,
    accent: &'static str,
    lease: &'static str,
    /// Line and fill.
    success: (&'static str, &'static str),
    failure: (&'static str, &'static str),
    cancelled: (&'static str, &'static str),
    initial: &'static str,
}

const LIGHT: Palette = Palette {
    page: "#ffffff",
    text: "#1f2328",
    muted: "#59636e",
    faint: "#818b98",
    fill: "#f6f8fa",
    line: "#b1bac4",
    way: "#57606a",
    time: "#9a5b00",
    accent: "#0969da",
    lease: "#6639ba",
    success: ("#1a7f37", "#ecfbef"),
    failure: ("#cf222e", "#fff1f0"),
    cancelled: ("#818b98", "#f3f4f6"),
    initial: "#eef6ff",
};

const DARK: Palette = Palette {
    page: "#0d1117",
    text: "#f0f6fc",
    muted: "#a0a9b4",
    faint: "#7d8590",
    fill: "#161b22",
    line: "#4a525c",
    way: "#9aa4af",
    time: "#e3a33c",
    accent: "#58a6ff",
    lease: "#bc8cff",
    success: ("#3fb950", "#12261a"),
    failure: ("#f85149", "#2d1517"),
    cancelled: ("#7d8590", "#1b2027"),
    initial: "#10233d",
};

/// Styles shared by light and dark.
const SHAPES: &str = r#"text { font-family: Inter, -apple-system, BlinkMacSystemFont, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", Arial, sans-serif; font-size: 12px; }
.title { font-size: 18px; font-weight: 650; }
.name { font-size: 14px; font-weight: 650; }
tspan.about, .time, .lease, .names, .who { font-size: 11px; }
.when { font-size: 10.5px; font-style: italic; }
tspan.asked, tspan.timed { font-weight: 600; }
.key { font-size: 11px; }
.way { fill: none; stroke-width: 1.5; stroke-linecap: round; }
.way.main { stroke-width: 2.2; }
.way.timed { stroke-dasharray: 5 4; }
.way.engine { stroke-width: 1.2; }
.edge { stroke-width: 1.5; }
.inner { fill: none; stroke-width: 1.2; }
.several .edge { stroke-width: 1.2; stroke-dasharray: 3 3; fill: none; }
.clock circle, .clock path { fill: none; stroke-width: 1.2; stroke-linecap: round; }
"#;

impl Theme {
    pub(crate) fn css(self) -> String {
        match self {
            Self::Light => format!("{SHAPES}{}", LIGHT.css()),
            Self::Dark => format!("{SHAPES}{}", DARK.css()),
            Self::Auto => {
                format!("{SHAPES}{}@media (prefers-color-scheme: dark) {{\n{}}}\n", LIGHT.css(), DARK.css())
            }
        }
    }
}

impl Palette {
    fn css(&self) -> String {
        let Self { page, text, muted, faint, fill, line, way, time, accent, lease, initial, .. } = self;
        let mut css = format!(
            "\
.page {{ fill: {page}; }}
text, .name, .title, tspan.asked {{ fill: {text}; }}
.about, .who, .key, .when, .names {{ fill: {muted}; }}
.time, tspan.timed {{ fill: {time}; }}
.lease {{ fill: {lease}; }}
tspan.engine {{ fill: {faint}; }}
.plate {{ fill: {page}; fill-opacity: 0.92; }}
.way.asked {{ stroke: {way}; }} .head.asked {{ fill: {way}; }}
.way.timed {{ stroke: {time}; }} .head.timed {{ fill: {time}; }}
.way.engine {{ stroke: {faint}; }} .head.engine {{ fill: {faint}; }}
.way.refused {{ stroke: {}; }} .head.refused, .refused {{ fill: {}; }}
.edge {{ fill: {fill}; stroke: {line}; }}
.inner {{ stroke: {line}; }}
.initial .edge {{ fill: {initial}; stroke: {accent}; }}
.dot {{ fill: {accent}; }}
.clock circle, .clock path {{ stroke: {time}; }}
",
            self.failure.0, self.failure.0
        );
        for (name, (line, fill)) in
            [("success", self.success), ("failure", self.failure), ("cancelled", self.cancelled)]
        {
            css.push_str(&format!(
                ".{name} .edge {{ fill: {fill}; stroke: {line}; }} .{name} .inner {{ stroke: {line}; }}\n"
            ));
        }
        css
    }
}
