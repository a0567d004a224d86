// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include <latchd/telemetry/log.hpp>

#include <spdlog/details/log_msg.h>
#include <spdlog/sinks/base_sink.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#ifdef LATCHD_HAVE_SYSTEMD
#include <systemd/sd-journal.h>
#endif

#include "descriptor_sink.hpp"
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
        const int length = std::fprintf(stderr,
                                        "<%d>%.*s: %.*s\n",
                                        priorities[static_cast<std::size_t>(level_of(msg))],
                                        static_cast<int>(msg.logger_name.size()),
                                        msg.logger_name.data(),
                                        static_cast<int>(msg.payload.size()),
                                        msg.payload.data());
        if (length < 0) throw std::system_error(errno, std::generic_category());
    }
    void flush_() override {}
};

#ifdef LATCHD_HAVE_SYSTEMD
class JournalSink final : public spdlog::sinks::base_sink<std::mutex> {
    void sink_it_(const spdlog::details::log_msg& msg) override {
        const int result = sd_journal_send("MESSAGE=%.*s: %.*s",
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
        if (result < 0) throw std::system_error(-result, std::generic_category());
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

// JOURNAL_STREAM is inherited by children whose stderr leads elsewhere: the numbers must match.
bool leads_to_journal() {
    const char* stream = std::getenv("JOURNAL_STREAM");
    struct stat info {};
    if (stream == nullptr || ::fstat(STDERR_FILENO, &info) != 0) return false;
    return std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino) == stream;
}

Sink sink_beside_file(Target target) {
#ifdef LATCHD_HAVE_SYSTEMD
    if (target == Target::journal) return std::make_shared<JournalSink>();
#endif
    if (target != Target::stderr_plain && leads_to_journal()) return std::make_shared<PrefixSink>();
    return std::make_shared<DescriptorSink>();
}

// The log is the one thing that all loops of the process share: only its lines take this lock.
struct Log {
    std::mutex mutex;
    std::string path;  // of the file; empty: no file
    Sink sink = std::make_shared<DescriptorSink>();
    RateLimit limit{10, std::chrono::seconds(5)};
    RateLimit audit_limit{1'000, std::chrono::minutes(1)};
    std::string detour;        // why lines go to standard error instead of the file
    std::string failure;       // why the last line could not be written; empty: it was
    std::uint64_t unsaid = 0;  // lines lost since the log last said so
    std::atomic<Level> level{Level::info};
    std::atomic<std::uint64_t> written{0};
    std::atomic<std::uint64_t> suppressed{0};
    std::atomic<std::uint64_t> dropped{0};

    void open(const LogOptions& options) {
        const std::lock_guard lock(mutex);
        set(options);
        path = options.target == Target::file ? options.path : "";
        if (path.empty()) {
            sink = sink_beside_file(options.target);
        } else {
            sink = std::make_shared<DescriptorSink>();
            open_file();
        }
    }

    void open(const LogOptions& options, LogWriter writer) {
        const std::lock_guard lock(mutex);
        set(options);
        sink = std::make_shared<WriterSink>(std::move(writer));
    }

    // What was open stays so if the file can't be.
    void reopen() {
        const std::lock_guard lock(mutex);
        if (!path.empty()) open_file();
    }

    // The mutex is held.
    void write(Level at, std::string_view event, std::string_view text) {
        try_again();
        if (try_write(at, event, text)) return;
        dropped.fetch_add(1, std::memory_order_relaxed);
        ++unsaid;
    }

    // The mutex is held. So a log that nobody writes to notices, too, that there is room again.
    void try_again() {
        if (!failure.empty()) say_dropped();
    }

    // The mutex is held.
    void sum_up(RateLimit::Time now) {
        sum_up(limit, now);
        sum_up(audit_limit, now);
    }

    // The mutex is held.
    [[nodiscard]] std::string trouble() const {
        if (failure.empty()) return detour;
        return (path.empty() ? "log" : "log.target: " + path) + ": lines cannot be written (" +
               failure + "), " + std::to_string(unsaid) +
               " are lost so far; give it room again, or name another log.target";
    }

private:
    void set(const LogOptions& options) {
        path.clear();
        detour.clear();
        failure.clear();
        unsaid = 0;
        limit = RateLimit(options.burst, options.window);
        audit_limit = RateLimit(options.audit_burst, options.audit_window);
        level = options.level;
    }

    void open_file() {
        try {
            sink = std::make_shared<DescriptorSink>(path);
            detour.clear();
        } catch (const std::system_error& error) {
            std::string why = error.code().message();
            std::fprintf(stderr, "latchd: log.target: %s: %s\n", path.c_str(), why.c_str());
            detour = "log.target: " + path + " cannot be opened (" + std::move(why) +
                     "), lines go where they went before; SIGHUP tries again";
        }
    }

    bool try_write(Level at, std::string_view event, std::string_view text) {
        const auto number = static_cast<std::size_t>(at);
        const spdlog::source_loc carrier("", static_cast<int>(number), "");
        try {
            sink->log(spdlog::details::log_msg(carrier,
                                               spdlog::string_view_t(event.data(), event.size()),
                                               spd_levels[number],
                                               spdlog::string_view_t(text.data(), text.size())));
        } catch (const std::system_error& error) {
            failed(error.code().message());
            return false;
        } catch (const std::exception& error) {
            failed(error.what());
            return false;
        }
        failure.clear();
        written.fetch_add(1, std::memory_order_relaxed);
        return true;
    }

    // A log that can't be written must not end the service. Standard error hears of it once.
    void failed(const std::string& why) {
        if (failure.empty() && !path.empty()) {
            std::fprintf(stderr,
                         "latchd: log.target: %s: %s; lines are dropped and counted until it can "
                         "be written again\n",
                         path.c_str(),
                         why.c_str());
        }
        failure = why.empty() ? "unknown error" : why;
    }

    void say_dropped() {
        const std::string text =
            std::to_string(unsaid) + " lines could not be written and are lost: " + failure;
        if (try_write(Level::warning, "log.dropped", text)) unsaid = 0;
    }

    void sum_up(RateLimit& of, RateLimit::Time now) {
        for (const RateLimit::Summary& summary : of.due(now)) {
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

void open_log(const LogOptions& options) { the_log().open(options); }

void open_log(const LogOptions& options, LogWriter writer) {
    the_log().open(options, std::move(writer));
}

void reopen_log() { the_log().reopen(); }

bool log_wants(Level level) noexcept {
    return level != Level::off && level >= the_log().level.load(std::memory_order_relaxed);
}

void log(Level level, std::string_view event, std::string_view text) {
    if (!log_wants(level)) return;
    Log& log = the_log();
    const std::lock_guard lock(log.mutex);
    if (level != Level::debug) {
        const auto now = std::chrono::steady_clock::now();
        log.sum_up(now);
        RateLimit& limit = event.starts_with("audit.") ? log.audit_limit : log.limit;
        if (!limit.may_write(now, event)) {
            log.suppressed.fetch_add(1, std::memory_order_relaxed);
            return;
        }
    }
    log.write(level, event, text);
}

void sum_up_log() {
    Log& log = the_log();
    const std::lock_guard lock(log.mutex);
    log.try_again();
    log.sum_up(std::chrono::steady_clock::now());
}

LogCounts log_counts() noexcept {
    const Log& log = the_log();
    return {log.written.load(std::memory_order_relaxed),
            log.suppressed.load(std::memory_order_relaxed),
            log.dropped.load(std::memory_order_relaxed)};
}

std::string log_trouble() {
    Log& log = the_log();
    const std::lock_guard lock(log.mutex);
    return log.trouble();
}

}  // namespace latchd::telemetry
