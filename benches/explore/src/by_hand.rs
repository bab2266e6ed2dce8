//! The same model, written by hand for `stateright`.

use stateright::{Model, Property};

/// This many tasks, two coders and a person.
#[derive(Clone, Debug)]
pub(crate) struct StaterightModel {
    pub(crate) tasks: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TaskState {
    Open,
    Doing,
    Review,
    Stuck,
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ModelTask {
    state: TaskState,
    author: Option<u8>,
    tries: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TaskAction {
    Claim(usize, u8),
    Submit(usize, u8),
    Approve(usize, u8),
    Reject(usize, u8),
    Help(usize),
}

impl Model for StaterightModel {
    type State = Vec<ModelTask>;
    type Action = TaskAction;

    fn init_states(&self) -> Vec<Vec<ModelTask>> {
        vec![vec![ModelTask { state: TaskState::Open, author: None, tries: 0 }; self.tasks]]
    }

    fn actions(&self, state: &Vec<ModelTask>, actions: &mut Vec<TaskAction>) {
        for at in 0..state.len() {
            for coder in [0, 1] {
                actions.extend([
                    TaskAction::Claim(at, coder),
                    TaskAction::Submit(at, coder),
                    TaskAction::Approve(at, coder),
                    TaskAction::Reject(at, coder),
                ]);
            }
            actions.push(TaskAction::Help(at));
        }
    }

    fn next_state(&self, last: &Vec<ModelTask>, action: TaskAction) -> Option<Vec<ModelTask>> {
        let (TaskAction::Claim(at, _)
        | TaskAction::Submit(at, _)
        | TaskAction::Approve(at, _)
        | TaskAction::Reject(at, _)
        | TaskAction::Help(at)) = action;
        let mut next = last.clone();
        let task = next.get_mut(at)?;
        match (action, task.state) {
            (TaskAction::Claim(_, coder), TaskState::Open) => {
                task.state = TaskState::Doing;
                task.author = Some(coder);
            }
            (TaskAction::Submit(_, coder), TaskState::Doing) if task.author == Some(coder) => {
                task.state = TaskState::Review
            }
            (TaskAction::Approve(_, coder), TaskState::Review) if task.author != Some(coder) => {
                task.state = TaskState::Done
            }
            (TaskAction::Reject(_, coder), TaskState::Review) if task.author != Some(coder) => {
                task.tries += 1;
                task.state = if task.tries > 2 { TaskState::Stuck } else { TaskState::Open };
            }
            (TaskAction::Help(_), TaskState::Stuck) => {
                task.state = TaskState::Open;
                task.tries = 0;
            }
            _ => return None,
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("Rejections end", |_, state: &Vec<ModelTask>| {
            state.iter().all(|it| it.tries <= 3)
        })]
    }
}
