build-clang/ref32/op/matmul_dot32.o: ref/op/matmul_dot32.c ref/op/lanes.h \
  ref/base/num/real.h ref/op/weight.h ref/op/op.h ref/base/case/args.h \
  ref/base/format/matrix.h ref/base/num/dtype.h ref/base/case/op.h

ref/op/lanes.h:

ref/base/num/real.h:

ref/op/weight.h:

ref/op/op.h:

ref/base/case/args.h:

ref/base/format/matrix.h:

ref/base/num/dtype.h:

ref/base/case/op.h:
