//! Tells the linker where Node's symbols are: on Linux nowhere, on other systems as each wants it.

fn main() {
    napi_build::setup();
}
