//! Tests that every store must pass.
//!
//! Implement [`Place`] for a store and put `conformance!(|| Box::new(MyPlace::new()))` into a test module.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

pub mod groups;
pub mod journal;
pub mod keys;
pub mod lists;
pub mod projections;
pub mod rankings;
pub mod reader_dump;
pub mod replay;
pub(crate) mod sample;
#[cfg(test)]
mod stores;
mod story;

use std::sync::Arc;

use crate::Store;

/// The place of a store under test.
pub trait Place {
    /// Opens it, or opens it again as another process would. Earlier handles have been dropped.
    fn open(&self) -> Arc<dyn Store>;
}

/// Makes an empty place.
pub type Make<'a> = &'a dyn Fn() -> Box<dyn Place>;

/// One `#[test]` for every case.
#[macro_export]
macro_rules! conformance {
    ($make:expr) => {
        $crate::conformance! { @cases $make;
            journal {
                what_is_appended_is_read_back
                a_store_that_is_new_is_empty
                whoever_begins_gets_a_number_that_nobody_had
                records_are_read_in_pieces
                a_trail_leads_back_to_the_first_entry_of_an_entity
                what_does_not_follow_is_not_appended
                a_dropped_payload_leaves_the_chain_whole_and_shows
                texts_of_packs_come_with_the_commit
                which_rules_came_into_force_is_known_after_a_cut
                what_was_written_is_there_when_opened_again
                one_appends_and_one_projects
                a_reader_sees_what_is_appended_after_it_came
                a_journal_that_was_cut_begins_at_its_base
                what_is_to_stay_is_there_by_its_number
                only_what_is_known_is_cut
            }
            projections {
                a_projection_goes_forward_or_is_refused
                a_refused_projection_leaves_nothing
                an_entity_is_as_it_was_last_written
                states_are_counted
                timers_come_in_the_order_in_which_they_are_due
                effects_are_there_until_they_are_settled
                notices_are_found_by_their_kind
                what_was_settled_is_not_found_any_more
                stays_add_up
                what_is_waited_for_is_counted
                the_project_is_kept_until_it_changes
                cleared_it_can_be_filled_again
            }
            lists {
                all_of_a_lifecycle_in_the_order_of_ids
                those_in_a_state
                those_with_a_value
                those_that_are_overdue
                conditions_are_met_together
                a_list_is_read_in_pages
            }
            groups {
                members_join_move_and_leave
                what_joins_and_leaves_at_once_was_not_there
                groups_of_one_entity_are_apart
            }
            rankings {
                places_are_taken_and_left
                a_closed_order_stays_closed_until_it_is_empty
                a_long_order_is_read_back_as_it_was
            }
            keys {
                a_value_belongs_to_one_until_it_is_free
                a_key_is_known_by_who_used_it
                keys_expire_the_oldest_first
            }
            replay {
                stored_journals_replay_to_the_live_state_byte_for_byte
                projections_are_the_same_however_they_are_cut_into_pieces
                what_was_erased_replays_without_its_payloads
                what_was_redacted_stands_in_a_closed_order_as_before
            }
        }
    };
    (@cases $make:expr; $($room:ident { $($case:ident)* })*) => {
        $($(
            #[test]
            fn $case() {
                $crate::conformance::$room::$case(&$make);
            }
        )*)*
    };
}
