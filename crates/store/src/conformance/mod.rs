//! Tests that every store must pass.
//!
//! Implement [`StorePlace`] for a store and put `conformance!(|| Box::new(MyPlace::new()))` into a test module.
#![expect(
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
pub trait StorePlace {
    /// Opens it, or opens it again as another process would. Earlier handles have been dropped.
    fn open(&self) -> Arc<dyn Store>;
}

/// Makes an empty place.
pub type Make<'a> = &'a dyn Fn() -> Box<dyn StorePlace>;

/// One `#[test]` for every case.
#[macro_export]
macro_rules! conformance {
    ($make:expr) => {
        $crate::conformance! { @cases $make;
            journal {
                appended_records_are_read_back
                a_store_that_is_new_is_empty
                every_session_gets_a_new_number
                records_are_read_in_pieces
                a_trail_leads_back_to_the_first_entry_of_an_entity
                a_batch_with_a_gap_is_not_appended
                a_dropped_payload_leaves_the_chain_whole_and_shows
                texts_of_packs_come_with_the_commit
                installations_are_known_after_a_cut
                written_data_survives_a_reopen
                one_appends_and_one_projects
                a_reader_sees_later_appends
                a_journal_that_was_cut_begins_at_its_base
                staying_records_are_found_by_number_after_a_cut
                a_cut_needs_an_existing_entry_before_the_newest
            }
            projections {
                a_projection_goes_forward_or_is_refused
                a_refused_projection_leaves_nothing
                an_entity_is_as_it_was_last_written
                states_are_counted
                timers_come_in_the_order_in_which_they_are_due
                effects_are_there_until_they_are_settled
                notices_are_found_by_their_kind
                resolved_alerts_are_not_listed_as_open
                stays_add_up
                open_work_is_counted
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
                a_member_that_joins_and_leaves_in_one_projection_leaves_no_trace
                groups_of_one_entity_are_separate
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
                projections_do_not_depend_on_batch_boundaries
                erased_entities_replay_without_payloads
                a_redacted_entity_keeps_its_place_in_a_closed_order
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
