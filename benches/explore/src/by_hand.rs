//! The same model, written by hand for `stateright`.

use stateright::{Model, Property};

/// This many tasks, two coders and a person.
#[derive(Clone, Debug)]
pub(crate) struct Desk {
    pub(crate) tasks: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum State {
    Open,
    Doing,
    Review,
    Stuck,
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Task {
    state: State,
    author: Option<u8>,
    tries: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    Claim(usize, u8),
    Submit(usize, u8),
    Approve(usize, u8),
    Reject(usize, u8),
    Help(usize),
}

impl Model for Desk {
    type State = Vec<Task>;
    type Action = Action;

    fn init_states(&self) -> Vec<Vec<Task>> {
        vec![vec![Task { state: State::Open, author: None, tries: 0 }; self.tasks]]
    }

    fn actions(&self, state: &Vec<Task>, actions: &mut Vec<Action>) {
        for at in 0..state.len() {
            for coder in [0, 1] {
                actions.extend([
                    Action::Claim(at, coder),
                    Action::Submit(at, coder),
                    Action::Approve(at, coder),
                    Action::Reject(at, coder),
                ]);
            }
            actions.push(Action::Help(at));
        }
    }

    fn next_state(&self, last: &Vec<Task>, action: Action) -> Option<Vec<Task>> {
        let (Action::Claim(at, _)
        | Action::Submit(at, _)
        | Action::Approve(at, _)
        | Action::Reject(at, _)
        | Action::Help(at)) = action;
        let mut next = last.clone();
        let task = next.get_mut(at)?;
        match (action, task.state) {
            (Action::Claim(_, coder), State::Open) => {
                task.state = State::Doing;
                task.author = Some(coder);
            }
            (Action::Submit(_, coder), State::Doing) if task.author == Some(coder) => {
                task.state = State::Review
            }
            (Action::Approve(_, coder), State::Review) if task.author != Some(coder) => {
                task.state = State::Done
            }
            (Action::Reject(_, coder), State::Review) if task.author != Some(coder) => {
                task.tries += 1;
                task.state = if task.tries > 2 { State::Stuck } else { State::Open };
            }
            (Action::Help(_), State::Stuck) => {
                task.state = State::Open;
                task.tries = 0;
            }
            _ => return None,
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("Rejections end", |_, state: &Vec<Task>| state.iter().all(|it| it.tries <= 3))]
    }
}
