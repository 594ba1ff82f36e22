// Threads, mutexes and condition variables for the thread pool, from POSIX or Windows. The classes of the C++ library
// are not used, because they throw. Objects have no destructors, because a child made by fork() must not destroy the
// objects of its parent.
#pragma once

#if defined(_WIN32)
#  include "kernels/windows_header.h"
#else
#  include <pthread.h>
#  include <signal.h>
#  include <unistd.h>
#endif

namespace sotto {

#if defined(_WIN32)

class Mutex {
 public:
  void init() { InitializeSRWLock(&lock_); }
  void destroy() {}
  void lock() { AcquireSRWLockExclusive(&lock_); }
  void unlock() { ReleaseSRWLockExclusive(&lock_); }

 private:
  friend class Condition;
  SRWLOCK lock_;
};

class Condition {
 public:
  void init() { InitializeConditionVariable(&condition_); }
  void destroy() {}
  void wait(Mutex* mutex) { SleepConditionVariableSRW(&condition_, &mutex->lock_, INFINITE, 0); }
  void wake_one() { WakeConditionVariable(&condition_); }
  void wake_all() { WakeAllConditionVariable(&condition_); }

 private:
  CONDITION_VARIABLE condition_;
};

// A thread that runs body(argument). The object must stay in place until the thread has ended.
class Worker {
 public:
  bool start(void (*body)(void* argument), void* argument) {
    body_ = body;
    argument_ = argument;
    handle_ = CreateThread(nullptr, 0, run, this, 0, nullptr);
    return handle_ != nullptr;
  }

  void join() {
    WaitForSingleObject(handle_, INFINITE);
    CloseHandle(handle_);
  }

 private:
  static DWORD WINAPI run(void* argument) {
    const auto& worker = *static_cast<Worker*>(argument);
    worker.body_(worker.argument_);
    return 0;
  }

  void (*body_)(void* argument);
  void* argument_;
  HANDLE handle_;
};

// Windows has no signals that a thread could block.
struct BlockedSignals {
  BlockedSignals() {}
};

// Returns a number that identifies the process. Windows has no fork(), so all processes may have the same one.
inline int process_number() { return 0; }

#else

class Mutex {
 public:
  void init() { pthread_mutex_init(&mutex_, nullptr); }
  void destroy() { pthread_mutex_destroy(&mutex_); }
  void lock() { pthread_mutex_lock(&mutex_); }
  void unlock() { pthread_mutex_unlock(&mutex_); }

 private:
  friend class Condition;
  pthread_mutex_t mutex_;
};

class Condition {
 public:
  void init() { pthread_cond_init(&condition_, nullptr); }
  void destroy() { pthread_cond_destroy(&condition_); }
  void wait(Mutex* mutex) { pthread_cond_wait(&condition_, &mutex->mutex_); }
  void wake_one() { pthread_cond_signal(&condition_); }
  void wake_all() { pthread_cond_broadcast(&condition_); }

 private:
  pthread_cond_t condition_;
};

// A thread that runs body(argument). The object must stay in place until the thread has ended.
class Worker {
 public:
  bool start(void (*body)(void* argument), void* argument) {
    body_ = body;
    argument_ = argument;
    return pthread_create(&handle_, nullptr, run, this) == 0;
  }

  void join() { pthread_join(handle_, nullptr); }

 private:
  static void* run(void* argument) {
    const auto& worker = *static_cast<Worker*>(argument);
    worker.body_(worker.argument_);
    return nullptr;
  }

  void (*body_)(void* argument);
  void* argument_;
  pthread_t handle_;
};

// While an object exists, the calling thread and the threads that it starts block all signals.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &old_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t old_;
};

// Returns a number that differs between a process and a child made by fork().
inline pid_t process_number() { return getpid(); }

#endif

class Lock {
 public:
  explicit Lock(Mutex* mutex) : mutex_(mutex) { mutex_->lock(); }
  ~Lock() { mutex_->unlock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  Mutex* mutex_;
};

}  // namespace sotto
