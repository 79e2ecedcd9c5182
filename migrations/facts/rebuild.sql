-- Runs after everything else when facts, or a setting that they depend on, have changed; and for `tidemark derive --all`.
select tracker.derive_all();
