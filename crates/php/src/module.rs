//! The module file: found, opened, checked and started.
#![allow(unsafe_code)]

use crate::border::{BORDER, BorderModule, BorderStart, BorderText, SIZES, SYMBOL};
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_void};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The module that was started in this process: there is one interpreter in a process, whoever asks
/// for it.
static RUNNING: Mutex<Option<Module>> = Mutex::new(None);

/// A module file that was opened. It stays open as long as the process lives: PHP leaves behind
/// what points into it.
#[derive(Clone, Copy)]
pub struct Module {
    table: &'static BorderModule,
}

/// Why a module file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenError(String);

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where PHP finds its settings; `None` is where it was built to look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartFolders {
    /// The folder of php.ini, or the file.
    pub ini: Option<PathBuf>,
    /// The folder of further files.
    pub scan: Option<PathBuf>,
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Module({})", self.version())
    }
}

impl Module {
    /// Open a module file.
    ///
    /// # Errors
    /// When it cannot be loaded, or is of another version, or without PHP, or with a PHP for
    /// threads.
    #[expect(clippy::disallowed_methods, reason = "an address becomes a function in no other way")]
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let shown = path.display();
        let name = CString::new(path.as_os_str().as_bytes())
            .map_err(|_| OpenError(format!("{shown} is no name of a file")))?;
        // SAFETY: the name ends with a zero. What runs while the file is loaded are the
        // constructors of PHP's library and of those that it needs. Global, because extensions of
        // PHP look its symbols up.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if library.is_null() {
            return Err(OpenError(last_error()));
        }
        // SAFETY: the library was opened and stays so.
        let symbol = unsafe { libc::dlsym(library, SYMBOL.as_ptr()) };
        if symbol.is_null() {
            return Err(OpenError(format!("{shown} is no PHP module of Trivet")));
        }
        // SAFETY: the symbol is this function in every version of the module file.
        let border: extern "C" fn() -> *const c_void = unsafe { std::mem::transmute(symbol) };
        Self::checked(border(), path)
    }

    fn checked(table: *const c_void, path: &Path) -> Result<Self, OpenError> {
        let shown = path.display();
        if table.is_null() {
            return Err(OpenError(format!(
                "{shown} was built without PHP (install php-dev and libphp-embed, then: make \
                 php-module)"
            )));
        }
        // SAFETY: in every version the table begins with its number.
        let border = unsafe { *table.cast::<u32>() };
        if border != BORDER {
            return Err(OpenError(format!(
                "{shown} is for another version of Trivet (its interface is {border}, this \
                 server's is {BORDER}): build both from the same sources (make php-module)"
            )));
        }
        // SAFETY: of this number the table is a BorderModule, a constant of a library that stays.
        let table = unsafe { &*table.cast::<BorderModule>() };
        if table.sizes as usize != SIZES {
            return Err(OpenError(format!(
                "{shown} lays its data out in another way than this server: build both from the \
                 same sources (make php-module)"
            )));
        }
        if table.is_thread_safe != 0 {
            return Err(OpenError(format!(
                "{shown} was built against a thread-safe PHP (ZTS), which is slower and is not \
                 needed here: build it against one without (make php-module \
                 PHP_CONFIG=/path/of/php-config)"
            )));
        }
        Ok(Self { table })
    }

    pub(crate) fn table(self) -> &'static BorderModule {
        self.table
    }

    /// The version of PHP: `8.2.36`.
    pub fn version(self) -> String {
        // SAFETY: the module has a constant text there.
        unsafe { CStr::from_ptr(self.table.version) }.to_string_lossy().into_owned()
    }

    /// `8.2`, as it stands in the names of folders.
    pub fn short_version(self) -> String {
        format!("{}.{}", self.table.version_id / 10_000, self.table.version_id / 100 % 100)
    }

    /// Whether an interpreter runs in this process already.
    pub fn is_running() -> bool {
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Start the interpreter in this process, anew if it runs already. Children that are forked
    /// afterwards share what it has in memory, such as compiled scripts; those that were forked
    /// before keep what they have.
    ///
    /// # Errors
    /// When PHP refuses to start, with what it has said.
    pub fn start(self, folders: &StartFolders) -> Result<Started, OpenError> {
        let text = |path: &Option<PathBuf>| {
            path.as_ref().and_then(|path| CString::new(path.as_os_str().as_bytes()).ok())
        };
        let (ini, scan) = (text(&folders.ini), text(&folders.scan));
        let at = |text: &Option<CString>| text.as_ref().map_or(std::ptr::null(), |it| it.as_ptr());
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = running.take() {
            // SAFETY: it was started, and no script runs: those run in children.
            unsafe { (module.table.stop)() }
        }
        let start = BorderStart { ini_folder: at(&ini), scan_folder: at(&scan), log: keep };
        // SAFETY: the texts live until it returns. Nothing else of PHP runs.
        match unsafe { (self.table.start)(&raw const start) } {
            0 => {
                *running = Some(self);
                Ok(Started { module: self })
            }
            _ => Err(OpenError(
                ["PHP could not be started".into()]
                    .into_iter()
                    .chain(take_messages().into_iter().map(|message| message.1))
                    .collect::<Vec<String>>()
                    .join(": "),
            )),
        }
    }
}

thread_local! {
    /// What PHP has said while no script ran: C has no other place for it.
    static MESSAGES: RefCell<Vec<(i32, String)>> = const { RefCell::new(Vec::new()) };
}

/// Messages that are kept until somebody takes them.
const MESSAGES_MAX: usize = 100;

extern "C" fn keep(level: i32, text: BorderText) {
    // SAFETY: the module passes a text that is there until this returns.
    let text = unsafe { text.bytes() };
    MESSAGES.with_borrow_mut(|all| {
        if all.len() < MESSAGES_MAX {
            all.push((level, String::from_utf8_lossy(text).into_owned()));
        }
    });
}

/// What PHP has said on this thread while no script ran, with the levels of syslog(3).
pub fn take_messages() -> Vec<(i32, String)> {
    MESSAGES.take()
}

fn last_error() -> String {
    // SAFETY: the text is that of this thread, until the next call.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "the dynamic linker does not say why".into();
    }
    // SAFETY: it ends with a zero.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// An interpreter that was started in this process, or in the one that it was forked from.
#[derive(Clone, Copy, Debug)]
pub struct Started {
    module: Module,
}

impl Started {
    pub(crate) fn module(&self) -> Module {
        self.module
    }

    /// The module.
    pub fn version(&self) -> String {
        self.module.version()
    }

    /// Tell PHP that this process was forked: once, before the first script.
    pub fn enter_child(&self) {
        // SAFETY: the module was started.
        unsafe { (self.module.table.enter_child)() }
    }

    /// Whether php.ini turns a switch on.
    pub fn is_on(&self, name: &CStr) -> bool {
        // SAFETY: the module was started, and the name ends with a zero.
        unsafe { (self.module.table.is_on)(name.as_ptr()) != 0 }
    }
}
