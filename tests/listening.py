"""A sweep's audience that records all events."""


class Listener:
    def __init__(self):
        self.events = []

    def started(self, run, attempt):
        self.events.append(("started", run.seed, attempt))

    def ended(self, run, code, is_retried):
        self.events.append(("ended", run.seed, code, is_retried))

    def refresh(self, active, num_waiting, is_stopping):
        pass
