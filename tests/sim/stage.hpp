// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "world.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace latchd::sim {

// A world in which nothing happens but what a script says.
class Stage {
public:
    Stage(const Plan& plan, const RunOptions& options) : world(plan, options) { world.start(); }

    // Commands of one client per node.
    [[nodiscard]] std::optional<core::Granted> lock(std::size_t node,
                                                    const char* resource,
                                                    Duration ttl,
                                                    Duration wait = {});
    [[nodiscard]] std::optional<core::Granted> lock(std::size_t node, core::LockCommand command);
    // What is left, 0 or less: lost; none: an error, which `said` has.
    [[nodiscard]] std::optional<std::int64_t> renew(std::size_t node,
                                                    const char* resource,
                                                    const Token& token);
    [[nodiscard]] std::optional<std::int64_t> unlock(std::size_t node,
                                                     const char* resource,
                                                     const Token& token);
    void cut(std::size_t node, Site site, Duration duration) {
        world.cut_way(node, site, true, true, duration);
    }
    void command(std::size_t node, bool back);
    void set_ttl_max(std::size_t node, Duration ttl_max);
    void set_delay_max(std::size_t node, Duration delay_max);
    void set_stores(std::size_t node, std::vector<std::string> stores);
    // Until it is so; false: it was not within `limit`.
    bool until(const std::function<bool()>& what, Duration limit);
    // An epoch above `after` is open in this store, and this node serves it.
    bool until_open(std::size_t node, std::string_view store, Epoch after, Duration limit);
    // A record above `after` settles, and `when` holds.
    bool until_settling(Epoch after, const std::function<bool()>& when, Duration limit);
    void expect(bool is_so, const std::string& text) {
        if (!is_so) world.oracle.violate({}, text);
    }
    [[nodiscard]] Epoch epoch() {
        const auto& record = world.record();
        return record ? record->epoch : 0;
    }
    [[nodiscard]] bool has_acked(std::size_t node, Epoch epoch);
    [[nodiscard]] bool is_over() const { return world.oracle.violation().has_value(); }

    World world;
    std::string said;  // the last answer

private:
    [[nodiscard]] std::optional<std::int64_t> number(std::size_t node, core::ClientCommand command);
};

[[nodiscard]] inline LockKey key_in(const char* resource) {
    return {ResourceName(resource), LockId("0")};
}

// Nothing fails, nobody asks: a fleet over Redis, MySQL behind it.
[[nodiscard]] Plan plan_of(int nodes);
// Redis serves, strict locks too.
[[nodiscard]] bool ready(Stage& stage);

// scenarios_alone.cpp
void starts_without_the_arbiter(Stage& stage);
void all_have_lost_the_arbiter(Stage& stage);
void the_missing_assert(Stage& stage);
void a_successor_asserts(Stage& stage);
void a_successor_asserts_nothing_without_the_journal(Stage& stage);
void a_leaver_and_two_dead_stores(Stage& stage);

// One counter-example each: by its name, what it plays.
struct Scenario {
    const char* name;
    void (*play)(Stage&);
    Plan (*plan)();
};
[[nodiscard]] const std::vector<Scenario>& scenarios();
[[nodiscard]] const std::vector<Scenario>& queue_scenarios();  // those among them
// These, and those of scenarios_stores.cpp.
[[nodiscard]] std::vector<Scenario> with_store_scenarios(std::vector<Scenario> all);
void measure_changes();  // prints

inline constexpr std::size_t rule_count = 27;
[[nodiscard]] std::string_view name_of(authority::Rule rule) noexcept;
[[nodiscard]] std::optional<authority::Rule> rule_of(std::string_view name) noexcept;
[[nodiscard]] Result play(const Scenario& scenario, const RunOptions& options);

}  // namespace latchd::sim
