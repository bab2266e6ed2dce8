//! A live view of a server on a terminal: entities per state, latest events, overdue entities.

mod draw;
mod scene;

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use scene::{LiveQuery, LiveView};

use crate::feed::{self, FeedEvent, FeedFilter};
use crate::folder::CliError;
use crate::server_lookup::{RequestError, ServerConnection};

/// The longest delay of a key press, and the interval of updates.
const TURN: Duration = Duration::from_millis(100);
/// The interval at which counts are refreshed without events, because timers still run.
const AGAIN: Duration = Duration::from_secs(5);
/// The time for which events are collected before counts are read again.
const SETTLE: Duration = Duration::from_millis(300);

/// Input of the view.
enum News {
    Entry(FeedEvent),
    Looked(Box<LiveQuery>),
    Lost(RequestError),
}

/// Shows the view until q is pressed.
pub(crate) fn show(server: &ServerConnection, lifecycle: Option<&str>) -> Result<(), RequestError> {
    let mut scene = LiveView::new(lifecycle);
    // The feed starts where the journal was before the first query, so that no event falls between them.
    let after = feed::position(server);
    // The first query runs before the screen is taken: a refusal is printed like any other.
    scene.update(LiveQuery::take(server, lifecycle)?);
    let (tell, news) = channel();
    let (ask, asked) = channel();
    let wanted = FeedFilter { lifecycle: lifecycle.map(str::to_owned), after, ..FeedFilter::default() };
    follow(server.clone(), wanted, tell.clone());
    poll(server.clone(), lifecycle.map(str::to_owned), tell, asked);
    let failed = |error: std::io::Error| {
        CliError::unreachable(format!(
            "cannot draw on this terminal ({error}). Follow line by line with: trackside watch --json"
        ))
    };
    let mut terminal = ratatui::try_init().map_err(failed)?;
    let ended = turns(&mut terminal, &mut scene, &news, &ask);
    let restored = ratatui::try_restore();
    let lost = ended.map_err(failed)?;
    restored.map_err(failed)?;
    lost.map_or(Ok(()), Err)
}

/// Follows events beside the view.
fn follow(server: ServerConnection, wanted: FeedFilter, tell: Sender<News>) {
    thread::spawn(move || {
        let ended = feed::follow(&server, wanted, &mut |heard| tell.send(News::Entry(heard)).is_ok());
        if let Err(error) = ended {
            let _ = tell.send(News::Lost(error));
        }
    });
}

/// Reads counts in the background, on request.
fn poll(server: ServerConnection, lifecycle: Option<String>, tell: Sender<News>, asked: Receiver<()>) {
    thread::spawn(move || {
        while asked.recv().is_ok() {
            // The event stream reports a lost server.
            if let Ok(look) = LiveQuery::take(&server, lifecycle.as_deref())
                && tell.send(News::Looked(Box::new(look))).is_err()
            {
                return;
            }
        }
    });
}

/// Draws, receives events and reads keys in turn. Returns the error that ended it, or none if the user quit.
fn turns(
    terminal: &mut ratatui::DefaultTerminal,
    scene: &mut LiveView,
    news: &Receiver<News>,
    ask: &Sender<()>,
) -> std::io::Result<Option<RequestError>> {
    let (mut read, mut stale) = (Instant::now(), false);
    loop {
        terminal.draw(|frame| draw::draw(frame, scene))?;
        while let Ok(it) = news.try_recv() {
            match it {
                News::Entry(FeedEvent::Entry(entry)) => {
                    scene.add_entry(entry);
                    stale = true;
                }
                // The screen follows entries.
                News::Entry(FeedEvent::Line(_)) => {}
                News::Entry(FeedEvent::Disconnected) => scene.set_disconnected(),
                News::Looked(look) => scene.update(*look),
                News::Lost(error) => return Ok(Some(error)),
            }
        }
        let since = read.elapsed();
        if (stale && since > SETTLE) || since > AGAIN {
            (read, stale) = (Instant::now(), false);
            let _ = ask.send(());
        }
        if event::poll(TURN)? && is_end(&event::read()?) {
            return Ok(None);
        }
    }
}

/// q, Escape or Ctrl-C.
fn is_end(event: &Event) -> bool {
    let Event::Key(key) = event else { return false };
    let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
    key.kind == KeyEventKind::Press
        && match key.code {
            KeyCode::Char('q') | KeyCode::Esc => true,
            KeyCode::Char('c') => ctrl,
            _ => false,
        }
}
