//! A live view of a server on a terminal: how many are where, what happened last, what is overdue.

mod draw;
mod scene;

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use scene::{Look, Scene};

use crate::exit;
use crate::feed::{self, Heard, Wanted};
use crate::folder::Stopped;
use crate::reach::{Server, Unanswered};

/// How long a key may wait, and how often news is shown.
const TURN: Duration = Duration::from_millis(100);
/// How often counts are read again while nothing happens; clocks run all the same.
const AGAIN: Duration = Duration::from_secs(5);
/// How long events are collected before counts are read again.
const SETTLE: Duration = Duration::from_millis(300);

/// What comes in while the view is shown.
enum News {
    Heard(Heard),
    Looked(Box<Look>),
    Lost(Unanswered),
}

/// Shows it until somebody types q.
pub(crate) fn show(server: &Server, lifecycle: Option<&str>) -> Result<(), Unanswered> {
    let mut scene = Scene::new(lifecycle);
    // The first look is taken before the screen is: a refusal is read like any other.
    scene.looked(Look::take(server, lifecycle)?);
    let (tell, news) = channel();
    let (ask, asked) = channel();
    follow(server.clone(), lifecycle.map(str::to_owned), tell.clone());
    look(server.clone(), lifecycle.map(str::to_owned), tell, asked);
    let failed = |error: std::io::Error| Stopped {
        why: format!(
            "the terminal cannot be drawn on ({error}). Watch line by line with: trackside watch --json"
        ),
        code: exit::UNREACHABLE,
    };
    let mut terminal = ratatui::try_init().map_err(failed)?;
    let ended = turns(&mut terminal, &mut scene, &news, &ask);
    let restored = ratatui::try_restore();
    let lost = ended.map_err(failed)?;
    restored.map_err(failed)?;
    lost.map_or(Ok(()), Err)
}

/// Follows events beside the view.
fn follow(server: Server, lifecycle: Option<String>, tell: Sender<News>) {
    thread::spawn(move || {
        let wanted = Wanted { lifecycle, ..Wanted::default() };
        let ended = feed::follow(&server, wanted, &mut |heard| tell.send(News::Heard(heard)).is_ok());
        if let Err(error) = ended {
            let _ = tell.send(News::Lost(error));
        }
    });
}

/// Reads counts again beside the view, whenever it is asked for.
fn look(server: Server, lifecycle: Option<String>, tell: Sender<News>, asked: Receiver<()>) {
    thread::spawn(move || {
        while asked.recv().is_ok() {
            // A server that is away is told by the stream.
            if let Ok(look) = Look::take(&server, lifecycle.as_deref())
                && tell.send(News::Looked(Box::new(look))).is_err()
            {
                return;
            }
        }
    });
}

/// Draws, listens and reads keys in turns; ends with what was lost, or with nothing if it was left.
fn turns(
    terminal: &mut ratatui::DefaultTerminal,
    scene: &mut Scene,
    news: &Receiver<News>,
    ask: &Sender<()>,
) -> std::io::Result<Option<Unanswered>> {
    let (mut read, mut stale) = (Instant::now(), false);
    loop {
        terminal.draw(|frame| draw::draw(frame, scene))?;
        while let Ok(it) = news.try_recv() {
            match it {
                News::Heard(Heard::Entry(entry)) => {
                    scene.heard(entry);
                    stale = true;
                }
                News::Heard(Heard::Away) => scene.away(),
                News::Looked(look) => scene.looked(*look),
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
