//! Runs that go well: events come out as they went in, whatever the agent does to their bytes.
