//! Why the system refuses to open a file: which of its owner, its mode, a directory and a setting of the kernel.

use core::fmt;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::error::RegionError;

const STICKY: u32 = 0o1000;

/// The error of opening the file at `path`; of a permission that is missing, with what was found and what was
/// expected.
pub(super) fn refusal(path: &Path, error: &io::Error) -> RegionError {
    let refused = RegionError::io("be opened", error);
    if error.kind() != io::ErrorKind::PermissionDenied {
        return refused;
    }
    let why = directory(path).or_else(|| link(path)).unwrap_or_else(|| file(path));
    refused.because(&why)
}

/// What the kernel says of this process, by its effective user and groups and its capabilities.
fn may(path: &Path, access: Access) -> io::Result<()> {
    Ok(accessat(CWD, path, access, AtFlags::EACCESS)?)
}

/// Whether owner and mode are what denies it. An attribute that makes a file immutable gives another number.
fn denies(path: &Path, access: Access) -> bool {
    may(path, access).is_err_and(|error| error.raw_os_error() == Some(Errno::ACCESS.raw_os_error()))
}

/// The directory of a path; of a bare name, this one.
fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) => Path::new("."),
        None => path,
    }
}

/// The first directory on the way that cannot be searched.
fn directory(path: &Path) -> Option<String> {
    let mut ancestors: Vec<_> =
        path.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty()).collect();
    ancestors.reverse();
    let closed = ancestors.into_iter().find(|directory| denies(directory, Access::EXEC_OK))?;
    let (kept, user) = (kept(closed), geteuid().as_raw());
    Some(format!("the directory {} is {kept}; expected one that user {user} may search", closed.display()))
}

/// A link that the kernel does not follow: of neither this user nor the owner of its sticky directory.
fn link(path: &Path) -> Option<String> {
    let link = fs::symlink_metadata(path).ok().filter(Metadata::is_symlink)?;
    if fs::metadata(path).is_ok() {
        return None;
    }
    let (folder, user) = (folder(path), geteuid().as_raw());
    let (owner, setting) = (link.uid(), setting("fs/protected_symlinks"));
    let a_stranger_s =
        ![user, fs::metadata(folder).map_or(owner, |directory| directory.uid())].contains(&owner);
    let sticky = fs::metadata(folder).is_ok_and(|directory| directory.mode() & STICKY != 0);
    let folder = folder.display();
    Some(if sticky && a_stranger_s && setting != "0" {
        format!(
            "it is a link of user {owner} in the sticky directory {folder}, and fs.protected_symlinks is {setting}; \
             expected a link of user {user} or of the directory's owner"
        )
    } else {
        format!("it is a link; expected that user {user} may open the file that it leads to")
    })
}

/// What is there, or what keeps a file from being made.
fn file(path: &Path) -> String {
    let user = geteuid().as_raw();
    let folder = folder(path);
    let Ok(metadata) = fs::metadata(path) else {
        let (kept, folder) = (kept(folder), folder.display());
        return format!(
            "no file is there, and the directory {folder} is {kept}; expected a file, or a directory in which user \
             {user} may make one"
        );
    };
    if denies(path, Access::READ_OK | Access::WRITE_OK) {
        return format!("the file is {}; expected one that user {user} may read and write", Kept(&metadata));
    }
    let setting = setting("fs/protected_regular");
    format!(
        "owner, mode and directory allow it, and fs.protected_regular is {setting}; expected that no attribute of \
         the file and no security module denies it"
    )
}

fn kept(path: &Path) -> String {
    fs::metadata(path).map_or_else(|_| "hidden".to_owned(), |metadata| Kept(&metadata).to_string())
}

/// Whose a file is, and its mode.
struct Kept<'m>(&'m Metadata);

impl fmt::Display for Kept<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (user, group, mode) = (self.0.uid(), self.0.gid(), self.0.mode() & 0o7777);
        write!(f, "of user {user}, group {group}, mode {mode:04o}")
    }
}

/// A setting of the kernel, where it can be read.
fn setting(name: &str) -> String {
    let value = fs::read_to_string(Path::new("/proc/sys").join(name));
    value.map_or_else(|_| "unknown".to_owned(), |value| value.trim().to_owned())
}
