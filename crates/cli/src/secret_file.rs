//! Files that hold secrets.

use std::fs::File;
use std::path::Path;

use crate::output::tell;

/// Say so when others can read or change a seed; refusing would break set-ups where a group is
/// meant to. Of keys the library says it.
pub(crate) fn warn_if_loose(file: &File, path: &Path) {
    #[cfg(unix)]
    if let Ok(metadata) = file.metadata() {
        use std::os::unix::fs::PermissionsExt;
        let mode = metadata.permissions().mode() & 0o7777;
        if metadata.is_file() && mode & 0o077 != 0 {
            let path = path.display();
            tell(format_args!(
                "warning: others can read or change the seed file {path} (mode {mode:o})"
            ));
        }
    }
    #[cfg(not(unix))]
    let _ = (file, path);
}
