//! Receipts for held slots and reservations, as signed tokens that callers send back.

pub(crate) mod reservation;
pub(crate) mod slot;
pub(crate) mod token;
