# Active queues under constant traffic in ns-2: the numbers in crates/net/tests/as_ns2.rs.
# Usage: ns queues.tcl REM|PI|RED RATE_IN_MBIT_S 220
# A link of 10 Mbit/s with room for 200 packets of 1000 bytes; measured from 20 s on. REM has ns-2's defaults.
set kind [lindex $argv 0]; set rate [lindex $argv 1]; set dur [lindex $argv 2]
Queue/PI set a_ 0.00001822
Queue/PI set b_ 0.00001816
Queue/PI set w_ 170
Queue/PI set qref_ 50
Queue/PI set mean_pktsize_ 1000
Queue/PI set bytes_ false
Queue/PI set queue_in_bytes_ false
Queue/RED set thresh_ 20
Queue/RED set maxthresh_ 60
Queue/RED set q_weight_ 0.002
Queue/RED set linterm_ 10
Queue/RED set gentle_ true
Queue/RED set wait_ true
Queue/RED set adaptive_ 0
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set mean_pktsize_ 1000
set ns [new Simulator]
set a [$ns node]; set b [$ns node]
$ns duplex-link $a $b 10Mb 10ms DropTail
$ns simplex-link $a $b 10Mb 10ms $kind
$ns queue-limit $a $b 200
set udp [new Agent/UDP]; $udp set packetSize_ 1000
$ns attach-agent $a $udp
set null [new Agent/Null]; $ns attach-agent $b $null
$ns connect $udp $null
set cbr [new Application/Traffic/CBR]
$cbr set packetSize_ 1000
$cbr set rate_ ${rate}Mb
$cbr attach-agent $udp
set mon [$ns monitor-queue $a $b ""]
set integ [$mon get-pkts-integrator]
$ns at 0.0 "$cbr start"
$ns at 20.0 "set s0 \[\$integ set sum_\]; set d0 \[\$mon set pdrops_\]; set a0 \[\$mon set parrivals_\]"
$ns at $dur "report; exit 0"
proc report {} { global integ mon s0 d0 a0 dur kind
 set t [expr $dur-20.0]
 puts "$kind queue [expr ([$integ set sum_]-$s0)/$t] droprate [expr ([$mon set pdrops_]-$d0)/([$mon set parrivals_]-$a0+0.0)] arrivals [expr [$mon set parrivals_]-$a0]" }
$ns run
