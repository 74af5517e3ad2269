//! Scripts that a built module file runs, without a server: what they ask, in which order, and that
//! one which nobody asks on runs to its end. Without a module file there is nothing to run.
#![allow(clippy::unwrap_used, clippy::disallowed_macros, clippy::disallowed_methods)]

use php::{Answer, Asked, Module, ScriptRequest, ScriptRun, Stacks, StartFolders, Started, Step};
use std::fs;
use std::path::PathBuf;
use std::rc::Rc;

/// The interpreter, if a module file was built beside this test or beside a tested server.
fn started() -> Option<Started> {
    let executable = std::env::current_exe().unwrap();
    let tested = std::env::var_os("TRIVET_BIN").map(PathBuf::from);
    let near = executable.ancestors().skip(1).take(2).map(PathBuf::from);
    let folders = tested.iter().filter_map(|path| Some(path.parent()?.to_owned())).chain(near);
    let mut files = folders.map(|folder| folder.join("libtrivet_php.so"));
    let module = files.find_map(|file| Module::open(&file).ok());
    if module.is_none() {
        println!("not run: no module file was built (make php-module)");
    }
    let started = module?.start(&StartFolders::default()).unwrap();
    started.enter_child();
    Some(started)
}

/// Prepare a script of these words.
fn prepare(started: &Started, stacks: &Rc<Stacks>, name: &str, code: &str) -> ScriptRun {
    let file = std::env::temp_dir().join(format!("trivet-php-{}-{name}.php", std::process::id()));
    fs::write(&file, code).unwrap();
    let path = file.to_str().unwrap().as_bytes();
    let mut request = ScriptRequest::new(b"GET", b"/x.php", path);
    request.query(Some(b"a=b"));
    request.variable(b"SCRIPT_FILENAME", path);
    ScriptRun::new(started, stacks, request).unwrap()
}

/// Run a script to its end: what it has written, and what it has asked.
fn run(script: &mut ScriptRun) -> (String, Vec<Asked>) {
    let (mut body, mut asked) = (Vec::new(), Vec::new());
    let mut answer = Answer::Go;
    while let Some(step) = script.resume(answer) {
        answer = match step {
            Step::Wrote(output) | Step::Ended { output, .. } => {
                body.extend(output.body);
                Answer::Go
            }
            Step::Asks(question) => {
                asked.push(question);
                Answer::text(Some(b"told".to_vec()))
            }
        };
    }
    (String::from_utf8(body).unwrap(), asked)
}

/// One test: there is one interpreter in a process, and it belongs to one thread.
#[test]
fn scripts_run_ask_and_end() {
    let Some(started) = started() else { return };
    let stacks = Rc::new(Stacks::default());
    let code = "<?php echo $_GET['a'], apache_note('x'), strlen(str_repeat('x', 100000));";
    for _ in 0..3 {
        let mut script = prepare(&started, &stacks, "asks", code);
        let (body, asked) = run(&mut script);
        assert_eq!(body, "btold100000");
        assert!(asked.contains(&Asked::Note(b"x".to_vec())), "{asked:?}");
        assert!(!script.is_under_way());
    }
    let mut long = prepare(&started, &stacks, "long", "<?php for (;;) echo str_repeat('x', 9999);");
    assert!(matches!(long.resume(Answer::Go), Some(Step::Wrote(output)) if output.head.is_some()));
    assert!(long.is_under_way());
    // The client has gone: the script ends when it writes again.
    drop(long);
    let unborn = prepare(&started, &stacks, "unborn", "<?php echo 1;");
    drop(unborn);
    let mut last = prepare(&started, &stacks, "last", "<?php echo connection_status();");
    assert_eq!(run(&mut last).0, "0");
    for name in ["asks", "long", "unborn", "last"] {
        let file = format!("trivet-php-{}-{name}.php", std::process::id());
        fs::remove_file(std::env::temp_dir().join(file)).unwrap();
    }
}
