"""Inputs of a test that holds for all of them: some are tried by day, all at night.

A property of every fixture or query costs minutes by day, and what breaks it breaks it for most of a kind.  So by day a
test tries a part of each kind, one at least, and another test tries another part; `pytest -m slow` tries the rest.

`SHARES` names the tests whose cases cost more than a tenth of a second each, in one place: which of them run by day was
chosen by what they cost and by which of them find planted faults that no other test finds.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any, TypeVar
from zlib import crc32

import pytest

_Input = TypeVar("_Input")
_wanted = {"at night": True}


def only_by_day() -> None:
    """Leaves out what is tried at night, before it is collected: there are as many of those tests as of all others."""
    _wanted["at night"] = False


def by_day_and_at_night(name: str, by_day: Iterable[Any], at_night: Iterable[Any]) -> pytest.MarkDecorator:
    """The test for some values of a parameter by day, and for others at night."""
    slow = [pytest.param(value, marks=pytest.mark.slow) for value in at_night] if _wanted["at night"] else []
    return pytest.mark.parametrize(name, [*by_day, *slow])


def spread(inputs: Iterable[_Input], name_of: Callable[[_Input], str], test: str, share: int = 3) -> list[Any]:
    """Parameters of a test: of each kind, what stands before the slash in the names, one of `share` by day."""
    found: list[Any] = []
    for kind, group in groupby(sorted(inputs, key=name_of), lambda one: name_of(one).rpartition("/")[0]):
        of_kind = list(group)
        first = crc32(f"{test} {kind}".encode()) % min(share, len(of_kind))
        for number, one in enumerate(of_kind):
            is_by_day = number % share == first
            if is_by_day or _wanted["at night"]:
                found.append(pytest.param(one, id=name_of(one), marks=() if is_by_day else (pytest.mark.slow,)))
    return found


# Of so many cases of a test one is tried by day; 0: the test as a whole is tried at night.
SHARES = {
    "test_advice.test_advice_that_is_obeyed_is_gone_and_right": 3,
    "test_advice.test_what_advice_points_at_is_there": 2,
    "test_advice.test_what_was_typed_is_never_advised": 3,
    "test_alike.test_what_is_off_broken_or_unknown_is_no_setting": 2,
    "test_api.test_the_example_of_a_docstring": 4,
    "test_assistant.test_every_wrong_number_is_found": 3,
    "test_assistant.test_questions_are_answered_by_three_calls_at_most": 3,
    "test_assistant.test_the_same_questions_about_logs_of_others": 3,
    "test_attempts.test_launches_and_ranks_are_told_apart": 3,
    "test_audit.test_a_text_may_end_anywhere": 2,
    "test_audit.test_nothing_that_a_text_holds_raises": 4,
    "test_bench.test_scripts_are_sound": 3,
    "test_bounds.test_a_bomb_is_read_in_bounded_pieces_up_to_a_ratio_that_no_log_has": 3,
    "test_bounds.test_no_line_costs_more_than_its_length": 3,
    "test_bucket.test_a_long_history_has_the_rows_of_a_folder_on_every_machine": 0,
    "test_bucket.test_a_writer_may_be_killed_at_any_moment": 0,
    "test_bucket.test_ingests_of_several_machines_at_once_leave_each_file_once": 0,
    "test_by_run.test_pieces_are_printed_as_one_answer": 2,
    "test_by_run.test_runs_asked_apart_say_what_all_at_once_say": 3,
    "test_charts.test_saved_twice_is_the_same_and_says_where_it_comes_from": 3,
    "test_check.test_the_command_that_is_named_mends": 2,
    "test_cli.test_a_query_finds_all_that_it_reads": 2,
    "test_cli.test_a_result_that_cannot_be_written_is_said": 3,
    "test_compare.test_intervals_of_quantiles_cover": 3,
    "test_compare.test_runs_of_the_same_thing_are_seldom_called_slower": 2,
    "test_compare.test_runs_of_two_modes_are_seldom_called_slower": 3,
    "test_completion.test_commands_queries_parameters_and_runs": 3,
    "test_completion.test_what_cannot_be_found_out_is_not_offered": 3,
    "test_containers.test_an_archive_gives_the_rows_of_its_folder": 2,
    "test_contention.test_a_rank_slower_by_a_tenth_is_named_and_one_that_only_overlaps_more_is_not": 3,
    "test_coverage.test_ci95_covers_the_true_median": 4,
    "test_coverage.test_ratio_of_medians_over_runs_is_covered": 3,
    "test_coverage.test_the_page_shows_what_is_simulated": 0,
    "test_dask.test_a_worker_that_is_killed_costs_time_alone": 0,
    "test_demo.test_what_is_small_is_answered_as_what_is_large": 3,
    "test_drawn.test_identical_runs_are_seldom_called_slower": 3,
    "test_elbows.test_a_smooth_tail_is_no_elbow": 3,
    "test_elbows.test_planted_tails_are_found_where_they_begin": 3,
    "test_empty.test_every_query_without_rows_has_a_reason": 3,
    "test_energy_oracle.test_energy_is_that_of_numpy": 3,
    "test_expert_balance.test_loads_are_sums_over_the_matrix": 3,
    "test_facets.test_order_is_also_that_of_panels": 4,
    "test_facets.test_panels_of_a_chart": 3,
    "test_figures.test_a_caption_counts_what_it_leaves_out": 3,
    "test_figures.test_a_dark_figure_is_the_same_drawing_with_texts_that_can_be_read": 3,
    "test_figures.test_every_chart_in_every_format": 2,
    "test_figures.test_texts_have_room_and_labels_of_axes_are_numbers_as_people_write_them": 3,
    "test_formats.test_same_rows_from_gzip_under_another_name": 6,
    "test_generic.test_a_preset_gives_the_same_rows": 2,
    "test_generic.test_a_time_that_grows_less_and_less_is_no_time_since_the_start": 3,
    "test_generic.test_what_is_no_table_of_steps_is_left_with_the_reason": 3,
    "test_glance.test_printed_table": 3,
    "test_history.test_a_shift_of_five_percent_is_found_within_two_runs": 3,
    "test_history.test_no_scatter_makes_more_false_points": 3,
    "test_history.test_runs_that_are_like_the_one_before_make_few_more": 3,
    "test_history.test_series_without_a_change_seldom_have_a_point": 2,
    "test_implausible.test_a_negative_number_that_a_format_reads_is_marked": 2,
    "test_implausible_reports.test_a_report_is_explained": 3,
    "test_implausible_reports.test_a_true_number_is_not_listed": 3,
    "test_inert.test_a_name_with_an_escape_does_not_end_the_process_that_draws": 4,
    "test_invariance.test_rows_of_the_little_warehouse_in_another_order_give_the_golden": 2,
    "test_invariance.test_times_k_in_another_order_change_numbers_as_they_must": 2,
    "test_joining.test_logs_of_unlike_trainings_stay_apart_in_whatever_order_they_lie_among_strangers": 3,
    "test_joining.test_the_work_of_opening_grows_as_the_number_of_files": 4,
    "test_kinds_of_lines.test_the_losses_of_an_epoch_stand_in_lines_beside_it": 3,
    "test_kinds_of_lines.test_trainings_of_one_log_are_runs_where_what_is_trained_differs": 3,
    "test_kineto.test_other_traces_keep_the_exact_prefix_too": 3,
    "test_kineto.test_real_traces_are_read_as_the_standard_library_reads_them": 3,
    "test_large_figures.test_a_map_of_many_cells_loses_no_hiccup": 0,
    "test_logs.test_how_a_run_ended": 2,
    "test_long_memory.test_what_is_called_an_interval_covers": 2,
    "test_macros.test_it_is_done_without": 3,
    "test_memory_snapshots.test_totals_and_sites_are_those_that_the_allocator_counted": 3,
    "test_mfu.test_images_as_the_runners_models_compute_them": 3,
    "test_mlperf.test_results_of_one_size_are_drawn_by_their_scores": 2,
    "test_noise.test_own_repeats_say_what_identical_runs_show": 2,
    "test_nsight.test_real_captures": 2,
    "test_old_names.test_sql_with_an_old_column_has_its_rows": 4,
    "test_other_figures.test_a_distribution_is_offered_from_five_steps_on_without_the_warmup": 4,
    "test_other_figures.test_a_folder_of_one_kind_gets_the_figure_that_answers_its_question": 4,
    "test_other_figures.test_a_refused_chart_names_what_the_logs_can_show": 3,
    "test_other_figures.test_failures_are_drawn_first_where_they_are_many": 2,
    "test_outcomes.test_steps_after_an_out_of_memory_line_show_that_the_run_went_on": 10,
    "test_outlier_simulation.test_equal_devices_are_seldom_said_to_differ": 2,
    "test_outlier_simulation.test_of_devices_that_scatter_by_more_than_is_usual_no_second_one_is_named": 3,
    "test_outlier_simulation.test_the_end_of_a_long_tail_is_not_called_slow": 3,
    "test_outlier_simulation.test_who_is_slow_is_found": 3,
    "test_outliers.test_a_rank_slower_by_a_fifth_is_named_and_only_it": 3,
    "test_outliers.test_of_ranks_that_are_alike_none_is_named": 3,
    "test_outliers.test_of_two_it_cannot_be_told_which_is_the_odd_one": 2,
    "test_papers.test_a_number_that_cannot_be_told": 2,
    "test_papers.test_an_envelope_of_a_command": 3,
    "test_papers.test_an_envelope_of_a_query": 3,
    "test_peers.test_the_end_of_a_long_tail_seldom_stands_apart": 4,
    "test_power_copies.test_a_copy_does_not_count": 3,
    "test_power_copies.test_what_another_device_took_counts": 3,
    "test_power_tables.test_times_units_and_forms": 3,
    "test_promises.test_a_command_beside_compact": 4,
    "test_quantiles.test_a_short_memory_keeps_an_interval_that_is_not_much_too_wide": 2,
    "test_quantiles.test_what_is_called_an_interval_of_a_quantile_covers": 4,
    "test_queries.test_a_query_has_no_rows_without_what_it_needs": 2,
    "test_queries.test_header_is_what_the_query_returns": 2,
    "test_readers.test_a_command_beside_compact": 3,
    "test_record_forms.test_columns_give_the_rows_of_line_by_line": 2,
    "test_review.test_a_broken_rule_is_found": 2,
    "test_robustness.test_a_cut_stream_gives_its_exact_prefix_and_says_so": 2,
    "test_robustness.test_a_long_line_costs_no_more_than_its_length": 2,
    "test_robustness.test_block_boundaries_change_nothing": 6,
    "test_robustness.test_compression_changes_nothing": 6,
    "test_robustness.test_encodings_give_the_same_rows": 6,
    "test_robustness.test_every_number_may_be_anything": 2,
    "test_robustness.test_memory_does_not_grow_with_the_file": 2,
    "test_robustness.test_one_label_changes_only_rank_and_place": 4,
    "test_robustness.test_prefixes_change_only_rank_and_place": 2,
    "test_rounds.test_writers_that_are_killed_beside_everything_else": 0,
    "test_runner.test_an_error_within_the_traced_steps_is_logged_and_ends_in_a_traceback": 2,
    "test_runner.test_models_are_torchvisions": 3,
    "test_scaling.test_permuted_rows_change_nothing": 3,
    "test_scaling.test_times_k_scale_as_they_must": 3,
    "test_site.test_commands_of_a_page_run": 2,
    "test_steady.test_clean_series_have_no_change_points": 3,
    "test_together.test_writers_that_are_killed_beside_compact_forget_and_readers": 0,
    "test_tracelens_reference.test_operators_by_arguments": 3,
    "test_verify.test_a_figure_is_the_same": 3,
    "test_verify.test_a_table_is_the_same": 3,
    "test_verify.test_a_table_that_was_changed_by_hand": 3,
    "test_verify_attacked.test_no_changed_value_is_certified": 3,
    "test_warehouse.test_a_fold_that_is_killed_is_taken_up_by_the_next_one": 4,
    "test_waterfall.test_the_parts_of_any_job_add_up": 4,
    "test_way.test_no_module_is_entered_twice_and_none_calls_upward": 3,
    "test_what_if.test_stored_answers_of_the_paper_come_out": 3,
    "test_whole_files.test_a_command_on_a_full_disk": 3,
    "test_written.test_each_query_is_written_in_each_format": 3,
    "test_written.test_each_type_is_written_in_each_format": 2,
}  # fmt: skip


def by_night(tests: Iterable[str]) -> Iterator[str]:
    """Of the tests, by their ids, those that are tried at night alone because their function stands in `SHARES`."""
    for function, group in groupby(sorted(tests), lambda test: test.partition("[")[0]):
        share = SHARES.get(function.rpartition("/")[2].replace(".py::", "."))
        of_function = list(group)
        first = crc32(function.encode()) % min(share or 1, len(of_function))
        for number, test in enumerate(of_function):
            if share is not None and (share == 0 or number % share != first):
                yield test
