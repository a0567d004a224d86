// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include <latchd/telemetry/log.hpp>

#include <spdlog/details/log_msg.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#ifdef LATCHD_HAVE_SYSTEMD
#include <systemd/sd-journal.h>
#endif

#include "rate_limit.hpp"

namespace latchd::telemetry {
namespace {

using Sink = std::shared_ptr<spdlog::sinks::sink>;

// syslog's numbers, which the journal reads from the start of a line ("<6>").
constexpr std::array priorities{7, 6, 5, 4, 3};

// spdlog has no notice: it is shown as info there, the journal gets the true priority.
constexpr std::array spd_levels{spdlog::level::debug,
                                spdlog::level::info,
                                spdlog::level::info,
                                spdlog::level::warn,
                                spdlog::level::err};

Level level_of(const spdlog::details::log_msg& msg) noexcept {
    return static_cast<Level>(msg.source.line);  // carried there by write()
}

// Lines that journald splits into priority and text. It adds time, process and unit itself.
class PrefixSink final : public spdlog::sinks::base_sink<std::mutex> {
    void sink_it_(const spdlog::details::log_msg& msg) override {
        std::fprintf(stderr,
                     "<%d>%.*s: %.*s\n",
                     priorities[static_cast<std::size_t>(level_of(msg))],
                     static_cast<int>(msg.logger_name.size()),
                     msg.logger_name.data(),
                     static_cast<int>(msg.payload.size()),
                     msg.payload.data());
    }
    void flush_() override {}
};

#ifdef LATCHD_HAVE_SYSTEMD
class JournalSink final : public spdlog::sinks::base_sink<std::mutex> {
    void sink_it_(const spdlog::details::log_msg& msg) override {
        sd_journal_send("MESSAGE=%.*s: %.*s",
                        static_cast<int>(msg.logger_name.size()),
                        msg.logger_name.data(),
                        static_cast<int>(msg.payload.size()),
                        msg.payload.data(),
                        "PRIORITY=%d",
                        priorities[static_cast<std::size_t>(level_of(msg))],
                        "SYSLOG_IDENTIFIER=latchd",
                        "LATCHD_EVENT=%.*s",
                        static_cast<int>(msg.logger_name.size()),
                        msg.logger_name.data(),
                        nullptr);
    }
    void flush_() override {}
};
#endif

class WriterSink final : public spdlog::sinks::base_sink<std::mutex> {
public:
    explicit WriterSink(LogWriter writer) : writer_(std::move(writer)) {}

private:
    void sink_it_(const spdlog::details::log_msg& msg) override {
        writer_(level_of(msg),
                {msg.logger_name.data(), msg.logger_name.size()},
                {msg.payload.data(), msg.payload.size()});
    }
    void flush_() override {}

    LogWriter writer_;
};

Sink with_time(Sink sink) {
    sink->set_formatter(
        std::make_unique<spdlog::pattern_formatter>("%Y-%m-%dT%H:%M:%S.%e%z %l %n: %v"));
    return sink;
}

Sink plain_sink() { return with_time(std::make_shared<spdlog::sinks::stderr_sink_mt>()); }

Sink file_sink(const std::string& path) {
    try {
        return with_time(std::make_shared<spdlog::sinks::basic_file_sink_mt>(path));
    } catch (const spdlog::spdlog_ex& error) {
        std::fprintf(stderr, "latchd: log.target: %s\n", error.what());
        return plain_sink();
    }
}

// JOURNAL_STREAM is inherited by children whose stderr leads elsewhere: the numbers must match.
bool leads_to_journal() {
    const char* stream = std::getenv("JOURNAL_STREAM");
    struct stat info {};
    if (stream == nullptr || ::fstat(STDERR_FILENO, &info) != 0) return false;
    return std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino) == stream;
}

Sink sink_for(const LogOptions& options) {
    const Target target = options.target;
    if (target == Target::file) return file_sink(options.path);
#ifdef LATCHD_HAVE_SYSTEMD
    if (target == Target::journal) return std::make_shared<JournalSink>();
#endif
    if (target != Target::stderr_plain && leads_to_journal()) return std::make_shared<PrefixSink>();
    return plain_sink();
}

// The log is the one thing that all loops of the process share: only its lines take this lock.
struct Log {
    std::mutex mutex;
    Sink sink = plain_sink();
    RateLimit limit{10, std::chrono::seconds(5)};
    std::atomic<Level> level{Level::info};
    std::atomic<std::uint64_t> written{0};
    std::atomic<std::uint64_t> suppressed{0};

    void open(const LogOptions& options, Sink chosen) {
        const std::lock_guard lock(mutex);
        sink = std::move(chosen);
        limit = RateLimit(options.burst, options.window);
        level = options.level;
    }

    // The mutex is held.
    void write(Level at, std::string_view event, std::string_view text) {
        const auto number = static_cast<std::size_t>(at);
        const spdlog::source_loc carrier("", static_cast<int>(number), "");
        sink->log(spdlog::details::log_msg(carrier,
                                           spdlog::string_view_t(event.data(), event.size()),
                                           spd_levels[number],
                                           spdlog::string_view_t(text.data(), text.size())));
        // A file that lacks its last lines is of little use after a crash.
        sink->flush();
        written.fetch_add(1, std::memory_order_relaxed);
    }

    // The mutex is held.
    void sum_up(RateLimit::Time now) {
        for (const RateLimit::Summary& summary : limit.due(now)) {
            write(Level::warning,
                  summary.event,
                  std::to_string(summary.suppressed) + " more such lines were suppressed");
        }
    }
};

Log& the_log() {
    static Log log;
    return log;
}

}  // namespace

void open_log(const LogOptions& options) { the_log().open(options, sink_for(options)); }

void open_log(const LogOptions& options, LogWriter writer) {
    the_log().open(options, std::make_shared<WriterSink>(std::move(writer)));
}

bool log_wants(Level level) noexcept {
    return level != Level::off && level >= the_log().level.load(std::memory_order_relaxed);
}

void log(Level level, std::string_view event, std::string_view text) {
    if (!log_wants(level)) return;
    Log& log = the_log();
    const std::lock_guard lock(log.mutex);
    if (level != Level::debug && !event.starts_with("audit.")) {
        const auto now = std::chrono::steady_clock::now();
        log.sum_up(now);
        if (!log.limit.may_write(now, event)) {
            log.suppressed.fetch_add(1, std::memory_order_relaxed);
            return;
        }
    }
    log.write(level, event, text);
}

void sum_up_log() {
    Log& log = the_log();
    const std::lock_guard lock(log.mutex);
    log.sum_up(std::chrono::steady_clock::now());
}

LogCounts log_counts() noexcept {
    const Log& log = the_log();
    return {log.written.load(std::memory_order_relaxed),
            log.suppressed.load(std::memory_order_relaxed)};
}

}  // namespace latchd::telemetry
