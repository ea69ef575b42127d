"""What `make quick` leaves out: every test of these files and folders gets the mark `slow`."""

from typing import Final

# why it takes long: names of files (without .py) and folders
SLOW: Final = {
    "a browser": "test_serve test_serve_browser test_serving_site",
    "a server": "test_metrics_listen test_metrics_files",
    "a pseudo-terminal": "test_demo_trace test_screen_hardship test_tui_browser "
    "test_tui_internals_pty test_tui_pty test_tui_signals",
    "a package index": "test_pythons test_wheel",
    "a playbook": "test_changes_playbook test_fleet_ansible",
    "faults at every step": "faults test_changes_damage test_changes_dry test_choosing_property "
    "test_collect_damage test_hostile_recordings test_hostile_user_files test_peer_hostile "
    "test_standing_hosts test_streams test_trust",
    "hours of samples": "test_steady_long",
    "big hosts, or many": "test_facts_big test_fleet_generated test_linear "
    "test_memory test_odd_hosts test_sample_cost",
    "every value of every table": "test_facts_varied test_facts_kept_or_not test_pair_varied",
    "the whole program many times": "test_cli_errors test_docs test_interrupts "
    "test_rules_commands test_schema",
}
