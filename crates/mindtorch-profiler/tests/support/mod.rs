//! Scenarios that need a process of their own: the test runs itself again, with the scenario named in the environment.

use std::process::Command;

const SCENARIO: &str = "MINDTORCH_TEST_SCENARIO";

/// Runs `scenario` in a process of its own and panics, with what that said, unless it succeeds. `test` is the name of the
/// calling test.
#[allow(dead_code, reason = "each test program uses its part of this module")]
pub(crate) fn in_own_process(test: &str, scenario: impl FnOnce()) {
    in_own_process_with(test, &[], scenario);
}

/// The same, with environment variables that are set, or are not there.
pub(crate) fn in_own_process_with(test: &str, variables: &[(&str, Option<&str>)], scenario: impl FnOnce()) {
    if std::env::var(SCENARIO).is_ok_and(|chosen| chosen == test) {
        return scenario();
    }
    let program = std::env::current_exe().expect("a test knows its program");
    let mut command = Command::new(program);
    command.args([test, "--exact", "--nocapture", "--test-threads", "1"]).env(SCENARIO, test);
    for (name, value) in variables {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = command.output().expect("a test can start itself");
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{test}: {}\n{said}\n{complained}", output.status);
    assert!(said.contains("1 passed"), "there is no test {test}:\n{said}");
}
