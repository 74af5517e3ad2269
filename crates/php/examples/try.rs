use php::*;
use std::path::Path;
use std::rc::Rc;
fn main() {
    let module = Module::open(Path::new(&std::env::args().nth(1).unwrap()))
        .unwrap_or_else(|e| panic!("{e}"));
    let folders = StartFolders::default();
    let started = module.start(&folders).unwrap_or_else(|e| panic!("{e}"));
    println!("{} {:?}", started.version(), take_messages());
    started.enter_child();
    let stacks = Rc::new(Stacks::default());
    let n: usize = std::env::args().nth(3).and_then(|x| x.parse().ok()).unwrap_or(1);
    let begin = std::time::Instant::now();
    for i in 0..n {
        let file = std::env::args().nth(2).unwrap();
        let mut request = ScriptRequest::new(b"GET", b"/x.php", file.as_bytes());
        request.query(Some(b"a=b"));
        request.variable(b"SCRIPT_FILENAME", file.as_bytes());
        request.time_s = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap()
            .as_secs_f64();
        let mut run = ScriptRun::new(&started, &stacks, request).unwrap();
        let mut answer = Answer::Go;
        while let Some(step) = run.resume(answer) {
            if n == 1 {
                println!("{step:?}");
            }
            answer = match step {
                Step::Asks(Asked::Body) => Answer::Body(vec![]),
                Step::Asks(_) => Answer::text(None),
                _ => Answer::Go,
            };
        }
        if i == 10 {}
    }
    println!("{:?} each", begin.elapsed() / n as u32);
}
