//! The functions that Java's class `Jni` declares. No panic leaves them.

use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use jni::EnvUnowned;
use jni::errors::ThrowRuntimeExAndDefault;
use jni::objects::{JByteArray, JByteBuffer, JObject};
use jni::sys::{jint, jlong};

use crate::fault::Fault;
use crate::limiter::Limiter;
use crate::message::Writer;
use crate::request::Terms;
use crate::{decision, handle, operations};

/// Where an exchange has what it holds beside the decision, which is at its begin; as Java's `Exchange` has it.
const WITHIN: usize = decision::LENGTH;
const KEY: usize = WITHIN + 8;

/// Returned in place of an outcome after a panic.
const PANICKED: jint = -1;

/// Decides the request in the exchange at the address `exchange`, with a key of `key_length` bytes, and writes the decision
/// there. It names no zone.
#[unsafe(no_mangle)]
extern "system" fn Java_io_github_ratecell_Jni_decide(
    _: EnvUnowned<'_>,
    _: JObject<'_>,
    limiter: jlong,
    exchange: jlong,
    key_length: jint,
    cost: jint,
    at_ns: jlong,
    flags: jint,
) -> jint {
    let exchange = exchange as *mut u8;
    let decide = || {
        let limiter: &Limiter = handle::at(limiter.cast_unsigned());
        // SAFETY: Java passes the address of an exchange, memory of `KEY` bytes and then the key's, aligned for u64, that
        // no other thread has until this call returns.
        let (key, within_ns) = unsafe {
            let key = core::slice::from_raw_parts(exchange.add(KEY), key_length.cast_unsigned() as usize);
            (key, u64::from_le(exchange.add(WITHIN).cast::<u64>().read()))
        };
        let (cost, flags, at_ns) = (cost.cast_unsigned(), flags.cast_unsigned(), at_ns.cast_unsigned());
        let terms = Terms { cost, flags, at_ns, within_ns, zone: 0 };
        let words = decision::words(&limiter.core.decide(terms.of(key)));
        // SAFETY: as above, and no reference to these bytes is left.
        unsafe { exchange.cast::<[u64; decision::LENGTH / 8]>().write(words) };
        0
    };
    catch_unwind(AssertUnwindSafe(decide)).unwrap_or(PANICKED)
}

/// Runs an operation on its message, and returns the reply.
#[unsafe(no_mangle)]
extern "system" fn Java_io_github_ratecell_Jni_call<'l>(
    mut env: EnvUnowned<'l>,
    _: JObject<'l>,
    operation: jint,
    message: JByteArray<'l>,
) -> JByteArray<'l> {
    let called = env.with_env(|env| -> Result<_, jni::errors::Error> {
        let message = env.convert_byte_array(&message)?;
        let run = || operations::run(operation.cast_unsigned() as usize, &message);
        let reply = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
            let mut writer = Writer::default();
            Fault::internal("the library panicked").write(&mut writer);
            writer.into_bytes()
        });
        env.byte_array_from_slice(&reply)
    });
    called.resolve::<ThrowRuntimeExAndDefault>()
}

/// The address of a direct buffer.
#[unsafe(no_mangle)]
extern "system" fn Java_io_github_ratecell_Jni_address<'l>(
    mut env: EnvUnowned<'l>,
    _: JObject<'l>,
    memory: JByteBuffer<'l>,
) -> jlong {
    let address = env.with_env(|env| -> Result<_, jni::errors::Error> {
        Ok(env.get_direct_buffer_address(&memory)? as jlong)
    });
    address.resolve::<ThrowRuntimeExAndDefault>()
}
