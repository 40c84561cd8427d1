//! Files of several users: who may open which, and what is said to those who may not.

use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use ratecell::{Region, RegionError};
use rustix::process::geteuid;

use super::{builder, refusal};

const ANN: u32 = 65_533;
const BOB: u32 = 65_534;

/// A folder of this test alone, gone with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, mode: u32) -> Self {
        let path = std::env::temp_dir().join(format!("ratecell-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).expect("a folder");
        set_mode(&path, mode);
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("file")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("a mode");
}

const PATH: &str = "RATECELL_USERS_PATH";
const EXPECTED: &str = "RATECELL_USERS_EXPECTED";
/// Before what is expected of one who reads a region, and does not open it.
const LOOK: &str = "look: ";

/// What [`open_as`] runs as another user; as a test it does nothing.
#[test]
fn opened() {
    let (Some(path), Ok(expected)) = (std::env::var_os(PATH), std::env::var(EXPECTED)) else { return };
    let path = Path::new(&path);
    if let Some(expected) = expected.strip_prefix(LOOK) {
        let read = Region::read(path).map(|region| region.policy().to_string());
        let read = read.unwrap_or_else(|error| error.to_string());
        assert_eq!(read.strip_prefix(&format!("{}: ", path.display())).unwrap_or(&read), expected);
        return;
    }
    if expected.is_empty() {
        assert!(builder().open(path).expect("a region").check("key").is_allowed());
        return;
    }
    let error = refusal(path);
    assert!(matches!(&error, RegionError::Io { kind: ErrorKind::PermissionDenied, .. }), "{error}");
    assert_eq!(error.to_string(), expected);
}

/// Opens a file as another user, who is refused with these words, or with none is not.
fn open_as(user: u32, path: &Path, expected: &str) {
    let expected = match expected {
        "" => String::new(),
        found => format!("{DENIED}{found}"),
    };
    run_as(user, path, &expected);
}

const DENIED: &str = "cannot be opened: Permission denied (os error 13): ";

/// Runs [`opened`] as another user. Only the super-user can ask so.
fn run_as(user: u32, path: &Path, expected: &str) {
    if !geteuid().is_root() {
        return println!("left out: only the super-user can be another user");
    }
    // By a name that every user can reach.
    let mut command = Command::new("/proc/self/exe");
    command.args(["--exact", "users::opened"]).env(PATH, path).env(EXPECTED, expected);
    let output = command.uid(user).gid(user).output().expect("this program runs");
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success() && said[0].contains("1 passed"), "user {user}: {}", said.concat());
}

/// Whoever may read a file may look into the region, and is told so where that is denied.
#[test]
fn a_reader_need_not_be_allowed_to_write() {
    let folder = Folder::new("read", 0o755);
    let file = folder.file();
    drop(builder().open(&file).expect("made"));
    for mode in [0o604, 0o644, 0o444] {
        set_mode(&file, mode);
        run_as(BOB, &file, &format!("{LOOK}3/h"));
    }
    set_mode(&file, 0o602);
    let found = "the file is of user 0, group 0, mode 0602; expected one that user 65534 may read";
    run_as(BOB, &file, &format!("{LOOK}{DENIED}{found}"));
}

/// Where fs.protected_regular is set, the kernel refuses O_CREAT there, of the super-user too.
#[test]
fn a_file_of_another_user_in_a_sticky_directory_is_opened() {
    let folder = Folder::new("sticky", 0o1777);
    open_as(ANN, &folder.file(), "");
    if geteuid().is_root() {
        set_mode(&folder.file(), 0o666);
    }
    open_as(BOB, &folder.file(), "");
    assert!(builder().open(folder.file()).is_ok());
    let setting = fs::read_to_string("/proc/sys/fs/protected_regular").unwrap_or_default();
    if setting.trim().parse().is_ok_and(|setting: u32| setting == 0) {
        println!("left out: fs.protected_regular is 0 here");
    }
}

#[test]
fn what_refuses_is_named() {
    let folder = Folder::new("refused", 0o755);
    let (file, name) = (folder.file(), folder.0.display());
    open_as(
        BOB,
        &file,
        &format!(
            "no file is there, and the directory {name} is of user 0, group 0, mode 0755; expected a file, or a \
             directory in which user 65534 may make one"
        ),
    );
    drop(builder().open(&file).expect("made"));
    for mode in [0o600, 0o644, 0o222] {
        set_mode(&file, mode);
        let found = format!("the file is of user 0, group 0, mode {mode:04o}");
        open_as(BOB, &file, &format!("{found}; expected one that user 65534 may read and write"));
    }
    set_mode(&folder.0, 0o700);
    let found = format!("the directory {name} is of user 0, group 0, mode 0700");
    open_as(BOB, &file, &format!("{found}; expected one that user 65534 may search"));
}

/// The outermost one is named, whatever the modes of those within.
#[test]
fn a_folder_above_that_cannot_be_searched_is_named() {
    let above = Folder::new("above", 0o755);
    let [within, innermost] = ["within", "within/innermost"].map(|name| above.0.join(name));
    for folder in [&within, &innermost] {
        fs::create_dir(folder).expect("a folder");
        set_mode(folder, 0o755);
    }
    let file = innermost.join("file");
    drop(builder().open(&file).expect("made"));
    set_mode(&file, 0o666);
    open_as(BOB, &file, "");
    for (closed, mode) in [(&innermost, 0o744), (&within, 0o740), (&above.0, 0o766)] {
        set_mode(closed, mode);
        let found = format!("the directory {} is of user 0, group 0, mode {mode:04o}", closed.display());
        open_as(BOB, &file, &format!("{found}; expected one that user 65534 may search"));
    }
}

/// Where fs.protected_symlinks is set, the kernel follows no link of a stranger in a sticky directory that all may write.
#[test]
fn a_stranger_s_link_in_a_sticky_directory_is_named() {
    let (folder, open) = (Folder::new("sticky-links", 0o1777), Folder::new("open", 0o777));
    let (file, link) = (open.file(), folder.file());
    drop(builder().open(&file).expect("made"));
    set_mode(&file, 0o666);
    symlink(&file, &link).expect("a link");
    if !geteuid().is_root() {
        return println!("left out: only the super-user can be another user");
    }
    // Whoever follows it: the directory's owner has made it.
    open_as(BOB, &link, "");
    lchown(&link, Some(ANN), Some(ANN)).expect("another owner");
    open_as(ANN, &link, "");
    let setting = fs::read_to_string("/proc/sys/fs/protected_symlinks").unwrap_or_default();
    let setting = setting.trim();
    if !setting.parse().is_ok_and(|setting: u32| setting > 0) {
        println!("left out: fs.protected_symlinks is 0 here");
        return open_as(BOB, &link, "");
    }
    let name = folder.0.display();
    open_as(
        BOB,
        &link,
        &format!(
            "it is a link of user 65533 in the sticky directory {name}, and fs.protected_symlinks is {setting}; \
             expected a link of user 65534 or of the directory's owner"
        ),
    );
}

#[test]
fn a_link_that_leads_to_what_is_refused_is_named() {
    let (folder, closed) = (Folder::new("links", 0o755), Folder::new("closed", 0o700));
    symlink(closed.file(), folder.file()).expect("a link");
    drop(builder().open(closed.file()).expect("made"));
    open_as(BOB, &folder.file(), "it is a link; expected that user 65534 may open the file that it leads to");
}
