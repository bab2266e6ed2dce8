//! Finding the server.

use crate::ground::{Ground, scratch};
use crate::program::{binary, told};

#[test]
fn a_server_is_found_by_the_environment_a_folder_or_a_folder_above() {
    let mut ground = Ground::small("reaching");
    let read = |name: &str| std::fs::read_to_string(ground.root.join("data").join(name)).unwrap();
    let (address, token) = (read("address"), read("token"));
    // By the folder.
    ground.ask(&["whoami"]).says(0, &["owner (human), admin"]);
    // By the environment, from elsewhere.
    let mut command = binary(&["whoami"]);
    let url = format!("http://{}", address.trim());
    command.env("TRACKSIDE_URL", &url).env("TRACKSIDE_TOKEN", token.trim()).current_dir(scratch("elsewhere"));
    told(command).says(0, &["owner (human), admin"]);
    // The environment goes before the folder, and says so.
    let mut command = ground.command(&["whoami"]);
    command.env("TRACKSIDE_URL", "http://127.0.0.1:9").env("TRACKSIDE_TOKEN", "x");
    told(command).says(3, &["goes before --data", "cannot reach http://127.0.0.1:9", "TRACKSIDE_URL"]);
    // An address without a token is no way in, and the token of a folder is not sent to it.
    let mut command = ground.command(&["whoami"]);
    command.env("TRACKSIDE_URL", &url);
    told(command).says(3, &["TRACKSIDE_TOKEN is not"]);
    // From a folder below the one with `.trackside` in it.
    let home = scratch("above");
    std::fs::create_dir_all(home.join("a/b")).unwrap();
    std::fs::create_dir_all(home.join(".trackside")).unwrap();
    std::fs::write(home.join(".trackside/address"), &address).unwrap();
    std::fs::write(home.join(".trackside/token"), &token).unwrap();
    for below in ["", "a", "a/b"] {
        let mut command = binary(&["whoami"]);
        command.current_dir(home.join(below));
        told(command).says(0, &["owner (human), admin"]);
    }
    // A token that is not good here.
    ground
        .ask_as("ts_000000000000_00", &["whoami"])
        .says(4, &["refused: unauthorized", "next: set TRACKSIDE_TOKEN"]);
    // When it is gone, everybody is told how to start it.
    ground.stop();
    let next = format!("trackside up --data {}", ground.data());
    ground.ask(&["whoami"]).says(3, &["cannot reach", &next]);
    ground.ask(&["fire", "small.light/A", "switch_on"]).says(3, &["cannot reach", &next]);
}

#[test]
fn where_there_is_no_server_the_next_step_is_told() {
    let empty = scratch("nothing");
    let mut command = binary(&["list", "mission.task"]);
    // Whatever lies above the folders of these tests is not meant.
    command.current_dir("/");
    told(command)
        .says(3, &["there is no .trackside in this folder or above it", "trackside up", "TRACKSIDE_URL"]);
    let data = empty.join("none");
    let data = data.to_str().unwrap();
    told(binary(&["list", "mission.task", "--data", data]))
        .says(3, &["no server has run", "trackside up --data"]);
}
