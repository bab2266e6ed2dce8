//! Tasks of vibe-kanban: its SQLite file, `db.v2.sqlite` or the older `db.sqlite`.

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};
use serde_json::{Map, Value as Json, json};
use trackside_lifecycle::hex;

use super::{ForeignTask, ForeignTasks, ImportProblem};

/// Most tasks that are read.
const MOST: usize = 200_000;

/// Reads tasks. The file is only read; nothing in it is executed.
pub(super) fn read(path: &Path) -> ForeignTasks {
    match tasks(path) {
        Ok(found) => found,
        Err(what) => ForeignTasks { troubles: vec![ImportProblem::new("", what)], ..ForeignTasks::default() },
    }
}

fn tasks(path: &Path) -> Result<ForeignTasks, String> {
    if !path.is_file() {
        return Err(
            "no such file. vibe-kanban stores its tasks in db.v2.sqlite in its data folder".to_owned()
        );
    }
    let unread = |error: rusqlite::Error| {
        format!(
            "not readable as a vibe-kanban database ({error}). Stop vibe-kanban, and name its db.v2.sqlite"
        )
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let file = Connection::open_with_flags(path, flags).map_err(unread)?;
    file.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA query_only = ON;").map_err(unread)?;
    let _end = InterruptAfter::new(&file, PATIENCE);
    check_are_tables(&file)?;
    let columns = |table: &str| -> Result<Vec<String>, rusqlite::Error> {
        let mut asked = file.prepare("SELECT name FROM pragma_table_info(?1)")?;
        asked.query_map([table], |row| row.get(0))?.collect()
    };
    let own = columns("tasks").map_err(unread)?;
    let missing: Vec<&str> =
        ["id", "title", "status"].into_iter().filter(|it| !own.iter().any(|own| own == it)).collect();
    if !missing.is_empty() {
        return Err(format!(
            "its table tasks has no {}, so this is not a vibe-kanban database. Name its db.v2.sqlite",
            missing.join(", ")
        ));
    }
    let projects = columns("projects").map_err(unread)?;
    let parents = [("parent_workspace_id", "workspaces"), ("parent_task_attempt", "task_attempts")];
    let mut sql = "SELECT tasks.id, tasks.title, tasks.status".to_owned();
    let mut names = Vec::new();
    for name in ["description", "created_at", "updated_at"] {
        if own.iter().any(|it| it == name) {
            sql.push_str(&format!(", tasks.{name}"));
            names.push(name);
        }
    }
    let mut joins = String::new();
    if own.iter().any(|it| it == "project_id") && projects.iter().any(|it| it == "name") {
        sql.push_str(", projects.name");
        joins.push_str(" LEFT JOIN projects ON projects.id = tasks.project_id");
        names.push("project");
    }
    for (column, table) in parents {
        let there = own.iter().any(|it| it == column)
            && columns(table).map_err(unread)?.iter().any(|it| it == "task_id");
        if there && !names.contains(&"parent") {
            sql.push_str(", above.task_id");
            joins.push_str(&format!(" LEFT JOIN {table} AS above ON above.id = tasks.{column}"));
            names.push("parent");
        }
    }
    sql.push_str(&format!(" FROM tasks{joins} ORDER BY tasks.rowid LIMIT {}", MOST + 1));
    let mut asked = file.prepare(&sql).map_err(unread)?;
    let mut rows = asked.query([]).map_err(unread)?;
    let mut found = ForeignTasks::default();
    while let Some(row) = rows.next().map_err(unread)? {
        let at = format!("task {}", found.things.len() + found.troubles.len() + 1);
        match thing(row, &names, at.clone()) {
            Some(thing) => found.things.push(thing),
            None => found.troubles.push(ImportProblem::new(at, "its id, title or status is not text")),
        }
    }
    if found.things.len() > MOST {
        return Err(format!("it has more than {MOST} tasks"));
    }
    if found.things.is_empty() && found.troubles.is_empty() {
        return Err("the file contains no task".to_owned());
    }
    Ok(found)
}

/// The tables that are read.
const TABLES: [&str; 4] = ["tasks", "projects", "workspaces", "task_attempts"];

/// Fails if one of the tables is a view or a virtual table: those compute their rows, perhaps without end.
fn check_are_tables(file: &Connection) -> Result<(), String> {
    let kinds = "SELECT name, type, coalesce(sql, '') FROM sqlite_schema WHERE lower(name) = ?1";
    for table in TABLES {
        let kind = file.query_row(kinds, [table], |row| {
            let (kind, sql): (String, String) = (row.get(1)?, row.get(2)?);
            Ok(kind == "table" && !sql.to_ascii_lowercase().contains("virtual"))
        });
        match kind {
            Ok(true) | Err(rusqlite::Error::QueryReturnedNoRows) => {}
            Ok(false) => {
                return Err(format!(
                    "its {table} is no ordinary table, so this is not a vibe-kanban database"
                ));
            }
            Err(error) => return Err(format!("not readable as a vibe-kanban database ({error})")),
        }
    }
    Ok(())
}

/// The longest time for reading a file.
const PATIENCE: Duration = Duration::from_secs(120);

/// Interrupts the queries of a connection after a time, unless it is dropped before.
struct InterruptAfter(Option<Sender<()>>);

impl InterruptAfter {
    fn new(file: &Connection, patience: Duration) -> Self {
        let interrupt = file.get_interrupt_handle();
        let (end, ended) = channel::<()>();
        std::thread::spawn(move || {
            if ended.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                interrupt.interrupt();
            }
        });
        Self(Some(end))
    }
}

impl Drop for InterruptAfter {
    fn drop(&mut self) {
        self.0 = None;
    }
}

fn thing(row: &Row<'_>, names: &[&str], at: String) -> Option<ForeignTask> {
    let id = text(row, 0)?;
    let (title, status) = (text(row, 1)?, text(row, 2)?);
    let mut values = Map::from_iter([("title".to_owned(), json!(title))]);
    for (place, name) in names.iter().enumerate() {
        if let Some(value) = text(row, place + 3) {
            values.insert((*name).to_owned(), Json::String(value));
        }
    }
    Some(ForeignTask { at, id, status, mark: None, values })
}

/// A text; an id of 16 bytes as it is written everywhere else.
fn text(row: &Row<'_>, place: usize) -> Option<String> {
    match row.get_ref(place).ok()? {
        ValueRef::Text(bytes) => String::from_utf8(bytes.to_vec()).ok(),
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Blob(bytes) => bytes.try_into().ok().map(hex::encode_uuid),
        ValueRef::Real(_) | ValueRef::Null => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_kind_of_file_is_reported() {
        let found = read(Path::new("/nowhere/db.sqlite"));
        assert!(found.troubles.iter().any(|it| it.what.contains("db.v2.sqlite")), "{found:?}");
    }

    #[test]
    fn a_view_with_endless_rows_is_refused_and_an_endless_query_is_interrupted() {
        let path = std::env::temp_dir().join(format!("vk-{}.sqlite", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i";
        let file = Connection::open(&path).unwrap();
        file.execute_batch(&format!(
            "CREATE VIEW tasks AS {endless} AS id, 'x' AS title, 'todo' AS status FROM n WHERE i < 0"
        ))
        .unwrap();
        let found = read(&path);
        assert!(found.troubles.iter().any(|it| it.what.contains("no ordinary table")), "{found:?}");
        let _end = InterruptAfter::new(&file, Duration::from_millis(50));
        let stopped = file.query_row(&format!("{endless} FROM n WHERE i < 0"), [], |_| Ok(()));
        assert!(stopped.unwrap_err().to_string().contains("interrupt"));
        std::fs::remove_file(&path).unwrap();
    }
}
