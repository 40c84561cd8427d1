//! The function that decides the page's request: no argument, no result, and so no conversion.

use core::ffi::c_void;
use core::ptr;
use std::sync::Arc;

use napi::bindgen_prelude::{FromNapiValue, Function};
use napi::{Env, Error, Result, Status, sys};
use napi_derive::napi;

use crate::limiter::Limiter;
use crate::memory::Page;
use crate::page::{self, PAGE};
use crate::request::{self, Terms};

/// What the function decides by.
struct Decider {
    core: Arc<ratecell::Limiter>,
    page: *mut [u8; PAGE],
}

/// A function that decides the request of `page`, and writes the decision there. The page outlives it: `lib/native.js`
/// keeps the page for as long as its environment is.
#[napi]
pub fn decider<'env>(env: &'env Env, limiter: &Limiter, page: &Page) -> Result<Function<'env, (), ()>> {
    let decider = Box::into_raw(Box::new(Decider { core: limiter.core.clone(), page: page.pointer() }));
    let mut function = ptr::null_mut();
    // SAFETY: the environment is that of this call. The name's pointer and length are of one text, and `function` is
    // written where it succeeds. The function's data lives until its finalizer, which runs once no one has it.
    let made = unsafe {
        let name = "decide";
        let made = sys::napi_create_function(
            env.raw(),
            name.as_ptr().cast(),
            name.len() as isize,
            Some(decide),
            decider.cast(),
            &mut function,
        );
        if made == sys::Status::napi_ok {
            sys::napi_add_finalizer(
                env.raw(),
                function,
                decider.cast(),
                Some(free),
                ptr::null_mut(),
                ptr::null_mut(),
            )
        } else {
            made
        }
    };
    if made != sys::Status::napi_ok {
        // SAFETY: no finalizer has it, and no caller has the function.
        drop(unsafe { Box::from_raw(decider) });
        return Err(Error::new(Status::from(made), "Node made no function"));
    }
    // SAFETY: the value is the function that was made in this environment.
    unsafe { Function::from_napi_value(env.raw(), function) }
}

/// # Safety
/// As Node calls a function whose data is a `Decider`, on the thread of its environment.
unsafe extern "C" fn decide(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let mut data: *mut c_void = ptr::null_mut();
    // SAFETY: environment and info are the caller's. No argument is asked for, and `data` is written.
    let got = unsafe {
        sys::napi_get_cb_info(env, info, ptr::null_mut(), ptr::null_mut(), ptr::null_mut(), &mut data)
    };
    if got == sys::Status::napi_ok && !data.is_null() {
        // SAFETY: the data is the `Decider`, which lives as long as the function.
        let decider = unsafe { &*data.cast::<Decider>() };
        // SAFETY: the `Page` of this environment has these bytes for as long as that is. Only this thread has it, and no JavaScript runs now.
        let page = unsafe { &mut *decider.page };
        let terms = Terms::of(page);
        let decision = decider.core.decide(terms.request(request::key(page), None));
        page::write_to(page, &decision);
    }
    ptr::null_mut()
}

/// # Safety
/// As Node finalizes a function whose data is a `Decider`: once.
unsafe extern "C" fn free(_: sys::napi_env, data: *mut c_void, _: *mut c_void) {
    // SAFETY: `decider` gave it away, and nobody has the function any more.
    drop(unsafe { Box::from_raw(data.cast::<Decider>()) });
}
