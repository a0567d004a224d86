// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "migration.hpp"

#include "../dialect/schema.hpp"

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace latchd::store::mysql {
namespace {

constexpr unsigned no_such_table = 1146;
// Other sessions may hold a table's metadata for a while.
constexpr Duration step_limit = std::chrono::seconds(30);

class Migration : public std::enable_shared_from_this<Migration> {
public:
    Migration(Connection& connection, std::function<void(std::optional<Error>)> done)
        : connection_(connection), done_(std::move(done)) {}

    void start() {
        connection_.query(
            std::string(schema_read_statement()),
            [self = shared_from_this()](Answer&& answer) { self->read(std::move(answer)); });
    }

private:
    void read(Answer&& answer) {
        if (answer.error && answer.error->code == no_such_table) return create();
        if (answer.error) return done_(std::move(answer.error));
        std::set<std::pair<std::string, std::uint32_t>> known;
        const Rows& rows = answer.sets.at(0);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            known.emplace(rows.text(i, 0), rows.number<std::uint32_t>(i, 1).value_or(0));
        }
        for (const SchemaStep& step : schema_steps()) {
            if (!known.contains({std::string(step.module), step.number})) steps_.push_back(step);
        }
        next();
    }

    void create() {
        connection_.query(
            std::string(schema_version_statement()),
            [self = shared_from_this()](Answer&& answer) {
                if (answer.error) return self->done_(std::move(answer.error));
                self->steps_ = schema_steps();
                self->next();
            },
            step_limit);
    }

    void next() {
        if (at_ == steps_.size()) return done_(std::nullopt);
        connection_.query(
            std::string(steps_[at_].sql),
            [self = shared_from_this()](Answer&& answer) {
                if (answer.error && !is_done_already(answer.error->code)) {
                    return self->done_(std::move(answer.error));
                }
                self->note();
            },
            step_limit);
    }

    void note() {
        connection_.query(schema_done_statement(steps_[at_]),
                          [self = shared_from_this()](Answer&& answer) {
                              if (answer.error) return self->done_(std::move(answer.error));
                              ++self->at_;
                              self->next();
                          });
    }

    Connection& connection_;
    std::function<void(std::optional<Error>)> done_;
    std::vector<SchemaStep> steps_;
    std::size_t at_ = 0;
};

}  // namespace

void migrate(Connection& connection, std::function<void(std::optional<Error>)> done) {
    std::make_shared<Migration>(connection, std::move(done))->start();
}

}  // namespace latchd::store::mysql
