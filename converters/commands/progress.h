// Progress of long work, which signals may interrupt.
#pragma once

namespace sotto {

// Lets SIGINT and SIGTERM end the work at the next Progress::show() instead of the process.
void catch_interrupts();

// A progress bar on standard error if that is a terminal. The destructor removes it.
class Progress {
 public:
  explicit Progress(bool wanted);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Shows which part of the work is done. Throws if a signal has arrived.
  void show(double fraction) const;

 private:
  bool shown_;
};

}  // namespace sotto
