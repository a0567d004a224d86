// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fleet_parts.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace latchd::core::authority {

class Fleet::Impl : private FleetParts {
public:
    Impl(FleetOptions options, Known known, NameSource& names);

    void start(Moment at, FleetActions& out);
    void step(Moment at, FleetEvent&& event, FleetActions& out);
    [[nodiscard]] std::optional<Time> next_deadline() const noexcept;
    [[nodiscard]] FleetStatus status(Time now) const;
    [[nodiscard]] FleetStatus::OfBasis status_of_basis(Time now) const;

private:
    // fleet.cpp
    void on(ArbiterAnswered&& event);
    void on(ArbiterFailed&& event);
    void on(StrictWanted&& event);
    void on(Command&& event);
    void on(LeaveWanted&& event);
    void on(TimeCame&& event);
    void go_on();  // whatever is due
    CallId ask(std::optional<Asked>& lane, Purpose purpose, ArbiterCall&& call);
    void beat();
    void leave_on();
    void expire_command();
    void on(GrantEnded&& event);
    void settle_leavers();
    void take_read();
    void note_arbiter_error(std::string text);  // empty: it answers
    void notice(Notice::Level level, const char* event, std::string text);
    [[nodiscard]] NodeRow make_row();

    // fleet_view.cpp: what the arbiter shows
    void see(Purpose purpose, ArbiterReply&& reply, Time sent, Time received);
    void judge(Time sent);
    void follow_clock(Time sent, Time received);
    void doubt_clock();
    [[nodiscard]] Time long_after() const;
    void register_first();
    void follow();
    void follow_uuid();
    void forget_rows();
    [[nodiscard]] bool is_lost(Incarnation incarnation) const;
    [[nodiscard]] const NodeRow* own_row() const;
    [[nodiscard]] bool is_another_arbiter() const;
    [[nodiscard]] bool is_forgetful() const;
    [[nodiscard]] Duration lease_of_view() const noexcept;
    [[nodiscard]] Duration judged_lease() const noexcept;

    // fleet_tiers.cpp: what the tiers show
    void on(TierIdentified&& event);
    void on(TierProbed&& event);
    void on(TierFailed&& event);
    void on(TierDoubted&& event);
    void on(TierCounter&& event);
    void check_marker(TierIndex tier);
    void set_failing(TierIndex tier, std::string reason);
    [[nodiscard]] std::string way_out(TierIndex tier) const;
    void witness(std::string reason);
    [[nodiscard]] std::optional<TierIndex> index_of(const std::string& store) const;
    [[nodiscard]] bool has_marker(TierIndex tier) const;
    [[nodiscard]] bool is_other(TierIndex tier, const Placement& placement) const;
    [[nodiscard]] bool is_marked(TierIndex tier, const Placement& placement) const;
    [[nodiscard]] bool is_foreign(TierIndex tier) const;
    void note_use(TierView& view, const TierIdentified& event) const;
    [[nodiscard]] OthersUse use_of(TierIndex tier) const;
    [[nodiscard]] std::string others_text(TierIndex tier, OthersUse use) const;
    [[nodiscard]] bool is_usable(TierIndex tier) const;
    [[nodiscard]] TierSight sight_of(TierIndex tier) const;

    // fleet_vote.cpp: when an epoch begins
    void vote();
    bool begin(Begin&& wish);  // whether it was proposed
    void begin_first();
    [[nodiscard]] std::vector<const NodeRow*> known_nodes() const;
    [[nodiscard]] Duration hold_down(const Placement& placement, bool is_failure) const;
    bool vote_failure(const std::vector<const NodeRow*>& known);
    bool vote_return(const std::vector<const NodeRow*>& known);
    bool vote_command();
    void vote_measured();
    [[nodiscard]] Duration full_wait() const;

    // fleet_settle.cpp: hand over, then open
    void on(ClaimsCollected&& event);
    void on(TierDone&& event);
    void on(TierRead&& event);
    [[nodiscard]] std::string settling_text() const;
    void follow_settling();
    [[nodiscard]] static std::vector<Claims> in_parts(Claims&& claims);
    void hand_over();
    void handed_over(bool done);
    void drive();
    void fetch(std::string after);
    void fetched(ArbiterReply& reply, Time sent, Time received);
    void gather(std::vector<HandedOver>&& all, StoreMs shown, Time sent, Time received);
    void fetched_all(const View& view);
    void note_unsure(const View& view);
    [[nodiscard]] Claims gathered_claims();
    bool read_former();  // whether it is being read
    void initialise();
    void wait_out(Duration granted);
    void opened(bool done);
    void again_later();
    [[nodiscard]] bool is_due() const;
    [[nodiscard]] bool is_my_turn();
    [[nodiscard]] Duration carrying_time() const;
    [[nodiscard]] bool is_readable(TierIndex tier) const;
    [[nodiscard]] bool is_busy() const noexcept {
        return work_ || now() < work_after_ || opening_.stage != Opening::Stage::idle;
    }
    [[nodiscard]] std::vector<Incarnation> not_acked(const View& view, Epoch epoch) const;
    void refused(const std::string& store, const std::string& text);
    [[nodiscard]] bool is_refused() const;
    void redirect();

    // fleet_basis.cpp: what safety rests on
    void registry_was_read(std::vector<std::pair<ResourceName, ResourceSettings>>&& resources,
                           std::uint64_t version);
    void tell_registry();
    void follow_basis();
    void consider_promised();
    bool vote_basis();
    [[nodiscard]] bool knows_registry() const noexcept;
    [[nodiscard]] const Basis& basis() const noexcept;
    [[nodiscard]] LeaseLimits limits() const;
    [[nodiscard]] bool holds(const BasisChange& change) const noexcept;
    [[nodiscard]] Duration unsure() const;
    [[nodiscard]] std::optional<Time> basis_promised_at() const;
    [[nodiscard]] bool is_basis_promised() const;
    void follow_basis_change();
    void on(BasisWanted&& event);
    void consider_basis_wish();
    void basis_answered(bool done, std::string text);
    void basis_written(bool done);

    // fleet_stores.cpp: where the fleet goes
    [[nodiscard]] bool goes_by(const std::vector<std::string>& stores) const;
    [[nodiscard]] std::vector<TierIndex> order_of(const std::vector<std::string>& stores) const;
    [[nodiscard]] bool is_worse(TierIndex tier, TierIndex than) const;
    [[nodiscard]] std::optional<TierIndex> best_of(const std::vector<TierIndex>& order,
                                                   std::optional<TierIndex> current) const;
    [[nodiscard]] std::optional<TierIndex> best_but(std::optional<TierIndex> current) const;
    [[nodiscard]] std::string preferred_kind() const;
    [[nodiscard]] std::string why_not_listed(const Basis& before, const Basis& next) const;
    [[nodiscard]] std::vector<std::string> missing_stores() const;
    [[nodiscard]] std::vector<std::string> unlisted_stores() const;
    [[nodiscard]] Basis without_local(Basis basis) const;

    // fleet_uses.cpp: which resources are in use
    void on(UsesCollected&& event);
    void consider_uses();
    void collect_if_retired();
    void uses_noted(bool done, std::uint64_t period);
    [[nodiscard]] bool may_note_uses() const noexcept;
    [[nodiscard]] Duration uses_every() const noexcept;

    // fleet_alone.cpp: without the arbiter
    void on(TierNoted&& event);
    void consider_kept();
    void leave_note();
    [[nodiscard]] bool leaves_notes() const noexcept;

    // fleet_serve.cpp: what this node may do
    void on(TierReady&& event);
    void follow_open();
    void try_serve();
    void stop(const std::string& reason, bool settling);
    void withdraw(const std::string& reason);
    void tell_permit();
    void consider_local();
    void leave_local(const std::string& reason);
    [[nodiscard]] PermitChanged permit() const;
    void account();
    void consider_asserted();
    [[nodiscard]] Incarnation spoken_for() const noexcept;
    void on(Asserted&& event);
    [[nodiscard]] bool may_renew_strict() const;
    [[nodiscard]] Duration later_by(Duration wait) const noexcept;
    [[nodiscard]] std::string why_not_served(TierIndex tier) const;
    [[nodiscard]] bool are_all_accounted() const;
    [[nodiscard]] std::optional<Duration> clock_of_store(TierIndex tier) const;

    [[nodiscard]] bool omits([[maybe_unused]] Rule rule) const noexcept {
#ifdef LATCHD_TEST_MUTANTS
        return options_.omitted == rule;
#else
        return false;
#endif
    }
    [[nodiscard]] Time now() const noexcept { return at_.now; }
    // Of the 2 s in which every command is answered.
    static constexpr Duration command_max = std::chrono::milliseconds(1500);
    // Of the arbiter's clock, before anything strict rests on it.
    static constexpr std::uint32_t readings_needed = 3;
    template <class Action>
    void act(Action&& action) {
        out_->emplace_back(std::forward<Action>(action));
    }
    void to_node(Event&& event) { out_->emplace_back(ToNode{std::move(event)}); }

    const FleetOptions options_;
    Known known_;
    NameSource& names_;
    Moment at_;
    FleetActions* out_ = nullptr;

    // The arbiter.
    std::uint64_t calls_ = 0;
    std::optional<Asked> loop_;  // ReadView, Beat
    std::optional<Asked> work_;  // everything else
    // What failed is not asked again at once: it may fail without having left this host.
    Time work_after_ = Time::min();
    Time next_read_{};
    Time next_beat_{};
    bool has_view_ = false;
    View view_;
    Time viewed_at_{};  // when it was there
    Time view_sent_{};  // before the call that showed it
    std::uint32_t arbiter_fails_ = 0;
    std::string arbiter_error_ = "not reached yet";
    Incarnation rival_told_ = 0;  // the process that has this node's name
    ClockOffset arbiter_clock_;
    std::uint32_t arbiter_readings_ = 0;   // that agree
    Time counted_at_{};                    // the last of these readings
    std::optional<Duration> offset_told_;  // KeepOffsets
    bool arbiter_jumped_ = false;
    // Since when every reading of the arbiter's clock was as expected.
    std::optional<Time> arbiter_steady_since_;
    ClockDoubt doubt_;
    std::map<Incarnation, Judged> judged_;
    std::uint64_t registry_version_ = 0;
    bool has_registry_ = false;
    std::vector<std::pair<ResourceName, ResourceSettings>> resources_;  // as they were read
    OfUses uses_;
    OfBasis agreed_;
    std::string preferred_;  // preferred_kind() by the last view

    // This node's row.
    bool is_named_ = false;  // the name is free: it may register
    std::uint64_t beat_ = 0;
    Epoch acked_ = 0;               // handed over or registering for
    Epoch asserted_ = 0;            // all that was kept is in its store
    NodeRow recorded_;              // as the arbiter has it; acked 0: not
    Time lease_end_ = Time::min();  // of the view
    std::vector<ResourceName> strict_names_;
    Duration ttl_high_{};
    Duration strict_left_{};

    // The epoch.
    Epoch highest_ = 0;
    std::optional<Settling> settling_;
    Opening opening_;
    std::optional<Open> open_;
    std::optional<Time> left_open_;       // since when nothing is open
    std::optional<Placement> last_open_;  // of the epoch before the settling one
    bool last_clock_jumped_ = false;      // of its store
    std::optional<Wish> wish_;
    std::optional<Nonce> own_proposal_;
    std::optional<Command> command_;
    Time command_due_{};
    bool command_proposed_ = false;
    bool had_no_record_ = false;

    // Serving.
    std::vector<TierView> tiers_;
    std::optional<TierIndex> serving_;  // between TierServe and TierWithdraw or a lost connection
    bool is_open_ = false;              // StoreOpened was told, StoreClosed not yet
    bool serves_checked_ = false;       // with the store's clock
    bool is_local_ = false;
    bool was_local_ = false;  // since the last shared opening
    bool won_ = false;        // this node opened the epoch that is open
    std::string closed_for_ = "starting";
    bool closed_settling_ = false;
    std::optional<PermitChanged> permit_told_;
    Time next_note_{};
    Time noted_until_ = Time::min();  // every known node says that it has lost the arbiter

    // Leaving.
    std::optional<std::deque<Claims>> leaving_;
    std::deque<GoneFence> of_leavers_;     // ended here since; at most claims_max
    std::size_t settling_of_leavers_ = 0;  // of them, under way
    Time leave_by_{};
    bool is_gone_ = false;
};

}  // namespace latchd::core::authority
