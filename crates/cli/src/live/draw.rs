//! The live view on a screen.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph};

use trackside_lifecycle::printable::escape;

use super::scene::LiveView;
use crate::table::cut;
use crate::time_format::{moment, seconds};

/// The longest bar of a count.
const BAR: u64 = 20;

pub(super) fn draw(frame: &mut Frame<'_>, scene: &LiveView) {
    let rows = (scene.look.counts.len().max(scene.look.rows.len()) + 2).clamp(4, 24);
    let rows = u16::try_from(rows).unwrap_or(u16::MAX);
    let [top, middle, bottom] =
        Layout::vertical([Constraint::Length(1), Constraint::Max(rows), Constraint::Min(5)])
            .areas(frame.area());
    let [left, right] =
        Layout::horizontal([Constraint::Percentage(40), Constraint::Percentage(60)]).areas(middle);
    head(frame, top, scene);
    panel(frame, left, "where things are", counts(scene), "nothing yet");
    panel(frame, right, "what is open, overdue first", open_rows(scene, right.width), "nothing is open");
    panel(frame, bottom, "latest events", movers(scene), "none since you started watching");
}

fn head(frame: &mut Frame<'_>, area: Rect, scene: &LiveView) {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let line = match scene.trouble {
        Some(trouble) => Line::from(Span::styled(trouble, Style::new().add_modifier(Modifier::REVERSED))),
        None => Line::from(vec![
            Span::styled(format!("Trackside  {}", scene.title), bold),
            Span::raw(format!("  {}   q quits", moment(&scene.look.now))),
        ]),
    };
    frame.render_widget(Paragraph::new(line), area);
}

fn panel(frame: &mut Frame<'_>, area: Rect, title: &str, mut lines: Vec<Line<'_>>, none: &'static str) {
    if lines.is_empty() {
        lines.push(Line::from(Span::styled(none, Style::new().add_modifier(Modifier::DIM))));
    }
    let block = Block::bordered().title(format!(" {title} "));
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn counts(scene: &LiveView) -> Vec<Line<'_>> {
    let all = &scene.look.counts;
    let several = all.iter().any(|it| Some(&it.lifecycle) != all.first().map(|it| &it.lifecycle));
    let name = |it: &super::scene::StateCount| match several {
        true => format!("{} {}", it.lifecycle, it.state),
        false => it.state.clone(),
    };
    let width = all.iter().map(|it| name(it).chars().count()).max().unwrap_or(0);
    let most = all.iter().map(|it| it.many).max().unwrap_or(0).max(1);
    let line = |it: &super::scene::StateCount| {
        let bar = (it.many * BAR).div_ceil(most);
        let bar = "█".repeat(usize::try_from(bar).unwrap_or_default());
        Line::from(format!("{:<width$}  {:>5}  {bar}", name(it), it.many))
    };
    all.iter().map(line).collect()
}

/// Title, holder and age first, then the state. Titles get the room that the others leave.
fn open_rows(scene: &LiveView, width: u16) -> Vec<Line<'_>> {
    let all = &scene.look.rows;
    let cells =
        |it: &super::scene::LiveRow| [escape(&it.holder).into_owned(), seconds(it.seconds), it.state.clone()];
    let columns: [usize; 3] = std::array::from_fn(|n| {
        all.iter().filter_map(|it| cells(it).get(n).map(|it| it.chars().count())).max().unwrap_or(0)
    });
    let [holder, age, state] = columns;
    let holder = holder.min(16);
    let room = usize::from(width).saturating_sub(holder + age + state + 10).max(12);
    let line = |it: &super::scene::LiveRow| {
        let [by, time, state] = cells(it);
        let (title, by) = (cut(&escape(&it.title), Some(room)), cut(&by, Some(holder)));
        let mark = if it.overdue { "!" } else { " " };
        let style = if it.overdue { Style::new().add_modifier(Modifier::BOLD) } else { Style::new() };
        Line::styled(format!("{mark} {title:<room$}  {by:<holder$}  {time:>age$}  {state}"), style)
    };
    all.iter().map(line).collect()
}

fn movers(scene: &LiveView) -> Vec<Line<'_>> {
    scene.movers.iter().map(|it| Line::from(it.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use serde_json::json;

    use super::super::scene::{LiveQuery, LiveRow, StateCount};
    use super::*;

    #[test]
    fn counts_open_ones_and_movers_are_drawn() {
        let mut scene = LiveView::new(Some("x.task"));
        let count =
            |state: &str, many| StateCount { lifecycle: "x.task".to_owned(), state: state.to_owned(), many };
        let row = |title: &str, id: &str, holder: &str, seconds, overdue| LiveRow {
            title: title.to_owned(),
            entity: format!("x.task/{id}"),
            holder: holder.to_owned(),
            seconds,
            state: "OPEN".to_owned(),
            overdue,
        };
        scene.update(LiveQuery {
            now: "2026-01-01T00:00:00Z".to_owned(),
            counts: vec![count("OPEN", 10), count("WAITING", 1), count("CLOSED", 0)],
            rows: vec![
                row("Write the notes\u{1b}[2J", "7", "ada", 7_260.0, true),
                row("x.task/8", "8", "-", 30.0, false),
            ],
        });
        scene.add_entry(json!({
            "seq": 3, "timestamp": "2026-01-01T00:00:00Z", "event": "STATE_TRANSITION", "lifecycle": "x.task", "id": "7",
            "from": "WAITING", "to": "OPEN", "trigger": "reopen", "actor": "ada", "actorKind": "agent",
        }));
        let mut terminal = Terminal::new(TestBackend::new(90, 14)).unwrap();
        terminal.draw(|frame| draw(frame, &scene)).unwrap();
        insta::assert_snapshot!(terminal.backend());
        scene.set_disconnected();
        terminal.draw(|frame| draw(frame, &scene)).unwrap();
        assert!(terminal.backend().to_string().contains("lost the connection to the server: reconnecting"));
    }
}
