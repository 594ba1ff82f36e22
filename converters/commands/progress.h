// Shows the progress of long work, and lets signals interrupt it.
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

  // Shows the fraction of the work that is done. Throws if a signal has arrived.
  void show(double fraction) const;

 private:
  bool shown_;
};

}  // namespace sotto
